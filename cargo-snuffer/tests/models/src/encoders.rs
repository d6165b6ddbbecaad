//! Language models that read a text, and that turn it into another.

use candle_core::{D, Device, Result, Tensor};
use candle_transformers::models::{bert, clip, distilbert, marian, modernbert, t5, xlm_roberta};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::decoders::config;
use crate::weights::{VOCABULARY, signal, tokens, weights};

const LENGTH: usize = 9;

/// One for each token, and zero for the last two, which only fill up the text.
fn mask(device: &Device) -> Result<Tensor> {
    let mask = (0..LENGTH).map(|place| u32::from(place < LENGTH - 2)).collect();
    Tensor::from_vec(mask, (1, LENGTH), device)
}

pub fn bert(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "initializer_range": 0.02,
        "type_vocab_size": 2,
        "pad_token_id": 0,
    }));
    let model = bert::BertForMaskedLM::load(weights(device), &config)?;
    let text = tokens(LENGTH, device)?;
    Ok(vec![model.forward(&text, &text.zeros_like()?, Some(&mask(device)?))?])
}

pub fn distilbert(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({
        "dim": 64,
        "n_layers": 2,
        "n_heads": 4,
        "hidden_dim": 96,
        "activation": "gelu",
        "initializer_range": 0.02,
        "pad_token_id": 0,
    }));
    let model = distilbert::DistilBertForMaskedLM::load(weights(device), &config)?;
    // Here, one marks a token that is left out.
    let left_out = mask(device)?.eq(0u32)?;
    Ok(vec![model.forward(&tokens(LENGTH, device)?, &left_out)?])
}

pub fn xlm_roberta(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({
        "hidden_act": "gelu",
        "attention_probs_dropout_prob": 0.1,
        "hidden_dropout_prob": 0.1,
        "position_embedding_type": "absolute",
        "type_vocab_size": 1,
        "pad_token_id": 1,
    }));
    let model = xlm_roberta::XLMRobertaForSequenceClassification::new(3, &config, weights(device))?;
    let text = tokens(LENGTH, device)?;
    Ok(vec![model.forward(&text, &mask(device)?, &text.zeros_like()?)?])
}

pub fn modernbert(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({
        "pad_token_id": 0,
        "global_attn_every_n_layers": 2,
        "global_rope_theta": 160_000.0,
        "local_rope_theta": 10000.0,
        "local_attention": 4,
    }));
    let model = modernbert::ModernBertForMaskedLM::load(weights(device), &config)?;
    Ok(vec![model.forward(&tokens(LENGTH, device)?, &mask(device)?)?])
}

/// The decoder reads the first two tokens of the translation, and then one more.
pub fn t5(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = t5::T5ForConditionalGeneration::load(weights(device), &t5_config(64))?;
    let encoded = model.encode(&tokens(LENGTH, device)?)?;
    let text = tokens(3, device)?;
    let first = model.decode(&text.narrow(1, 0, 2)?, &encoded)?;
    Ok(vec![first, model.decode(&text.narrow(1, 2, 1)?, &encoded)?, encoded])
}

/// Its rows are whole numbers of the blocks of quantized weights if `d_model` is a multiple of 128.
pub fn t5_config<T: DeserializeOwned>(d_model: usize) -> T {
    config(json!({
        "d_model": d_model,
        "d_kv": d_model / 4,
        "d_ff": d_model,
        "num_layers": 2,
        "num_heads": 4,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 16,
        "dropout_rate": 0.1,
        "layer_norm_epsilon": 1e-6,
        "initializer_factor": 1.0,
        "feed_forward_proj": "gated-gelu",
        "is_encoder_decoder": true,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }))
}

/// As T5, but its decoder is told where it is.
pub fn marian(device: &Device) -> Result<Vec<Tensor>> {
    let config = marian::Config {
        vocab_size: VOCABULARY,
        decoder_vocab_size: None,
        max_position_embeddings: 16,
        encoder_layers: 2,
        encoder_ffn_dim: 96,
        encoder_attention_heads: 4,
        decoder_layers: 2,
        decoder_ffn_dim: 96,
        decoder_attention_heads: 4,
        d_model: 64,
        ..marian::Config::opus_mt_fr_en()
    };
    let mut model = marian::MTModel::new(&config, weights(device))?;
    let encoded = model.encoder().forward(&tokens(LENGTH, device)?, 0)?;
    let text = tokens(3, device)?;
    let first = model.decode(&text.narrow(1, 0, 2)?, &encoded, 0)?;
    Ok(vec![first, model.decode(&text.narrow(1, 2, 1)?, &encoded, 2)?, encoded])
}

/// The texts and the images that CLIP compares.
pub fn clip(device: &Device) -> Result<Vec<Tensor>> {
    let mut config = clip::ClipConfig::vit_base_patch32();
    let (text, vision) = (&mut config.text_config, &mut config.vision_config);
    (text.vocab_size, text.embed_dim, text.intermediate_size, text.projection_dim) = (VOCABULARY, 64, 96, 32);
    (text.num_hidden_layers, text.num_attention_heads) = (2, 4);
    (vision.embed_dim, vision.intermediate_size, vision.projection_dim) = (48, 96, 32);
    (vision.num_hidden_layers, vision.num_attention_heads) = (2, 4);
    (vision.image_size, vision.patch_size) = (32, 8);
    let model = clip::ClipModel::new(weights(device), &config)?;
    let texts = tokens(2 * LENGTH, device)?.reshape((2, LENGTH))?;
    let (by_text, by_image) = model.forward(&signal((3, 3, 32, 32), device)?, &texts)?;
    assert_eq!(by_text.dim(D::Minus1)?, 3);
    Ok(vec![by_text, by_image])
}
