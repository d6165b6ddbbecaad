//! Models that listen, and that code a sound.

use candle_core::{Device, Result, Tensor};
use candle_transformers::models::{encodec, snac, whisper};

use crate::weights::{VOCABULARY, signal, tokens, weights};

/// The encoder, and the decoder with the first tokens of the text and then with one more.
pub fn whisper(device: &Device) -> Result<Vec<Tensor>> {
    let config = whisper::Config {
        num_mel_bins: 16,
        max_source_positions: 24,
        d_model: 64,
        encoder_attention_heads: 4,
        encoder_layers: 2,
        vocab_size: VOCABULARY,
        max_target_positions: 16,
        decoder_attention_heads: 4,
        decoder_layers: 2,
        suppress_tokens: Vec::new(),
    };
    let mut model = whisper::model::Whisper::load(&weights(device), config)?;
    let heard = model.encoder.forward(&signal((1, 16, 40), device)?, true)?;
    let text = tokens(5, device)?;
    let first = model.decoder.forward(&text.narrow(1, 0, 4)?, &heard, true)?;
    let second = model.decoder.forward(&text, &heard, false)?;
    Ok(vec![model.decoder.final_linear(&first)?, model.decoder.final_linear(&second)?, heard])
}

/// The codes of a sound, and the sound that they stand for.
pub fn encodec(device: &Device) -> Result<Vec<Tensor>> {
    let config = encodec::Config {
        // Four codebooks: 2400 bits a second, in 60 frames of 4 times 10 bits.
        target_bandwidths: vec![2.4],
        sampling_rate: 240,
        upsampling_ratios: vec![2, 2],
        hidden_size: 32,
        num_filters: 8,
        codebook_size: 64,
        ..encodec::Config::default()
    };
    let model = encodec::Model::new(&config, weights(device))?;
    let codes = model.encode(&signal((1, 1, 96), device)?)?;
    Ok(vec![model.decode(&codes)?, codes])
}

/// As Encodec, with codes of several rates.
pub fn snac(device: &Device) -> Result<Vec<Tensor>> {
    let config = snac::Config {
        sampling_rate: 240,
        encoder_dim: 32,
        encoder_rates: vec![2, 2],
        decoder_dim: 64,
        decoder_rates: vec![2, 2],
        attn_window_size: Some(4),
        codebook_size: 64,
        codebook_dim: 8,
        vq_strides: vec![2, 1],
        // It would be random.
        noise: false,
        depthwise: false,
    };
    let model = snac::Model::new(&config, weights(device))?;
    let mut all = model.encode(&signal((1, 1, 96), device)?)?;
    let sound = model.decode(&all.iter().collect::<Vec<_>>())?;
    all.push(sound);
    Ok(all)
}
