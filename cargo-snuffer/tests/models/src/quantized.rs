//! Models with quantized weights, which are read from a GGUF file in memory.

use std::io::{Cursor, Seek};

use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Shape, Tensor};
use candle_transformers::models::{quantized_llama, quantized_qwen2, quantized_t5, t5};

use crate::decoders::continued;
use crate::encoders::t5_config;
use crate::weights::{VOCABULARY, Weights, tokens, weight};

/// More than the 8 rows up to which candle multiplies by vectors. The token after the prompt is one.
const PROMPT: usize = 12;
/// One block of the types that have the largest.
const WIDTH: usize = 256;
const LAYERS: u32 = 2;
const HEADS: u32 = 4;
const KEY_HEADS: u32 = 2;
const KEYS: usize = WIDTH * KEY_HEADS as usize / HEADS as usize;
const EXPERTS: u32 = 4;

/// How the products with the weights are computed.
#[derive(Clone, Copy, PartialEq)]
pub enum Products {
    /// From the weights as they are stored.
    Rounded,
    /// From floats of the same values.
    Exact,
}

type Named = Vec<(String, Shape)>;

/// A file of tensors. Those that cannot be of type `dtype` stay floats: vectors, and rows that are no whole number of
/// blocks.
fn file(metadata: &[(&str, Value)], tensors: &Named, dtype: GgmlDType, products: Products) -> Result<Cursor<Vec<u8>>> {
    let quantized = tensors.iter().map(|(name, shape)| {
        let fits = shape.rank() == 2 && shape.dims()[1] % dtype.block_size() == 0;
        let tensor = QTensor::quantize(&weight(name, shape)?, if fits { dtype } else { GgmlDType::F32 })?;
        match products {
            Products::Rounded => Ok(tensor),
            Products::Exact => QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::F32),
        }
    });
    let quantized = quantized.collect::<Result<Vec<_>>>()?;
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<_> = tensors.iter().zip(&quantized).map(|((name, _), tensor)| (name.as_str(), tensor)).collect();
    let mut file = Cursor::new(Vec::new());
    write(&mut file, &metadata, &tensors)?;
    file.rewind()?;
    Ok(file)
}

/// The tensors of a decoder. `mlp` names the parts of its networks, of which there may be many.
fn decoder(mlp: &[String]) -> Named {
    let mut tensors: Named = vec![
        ("token_embd.weight".into(), (VOCABULARY, WIDTH).into()),
        ("output_norm.weight".into(), WIDTH.into()),
        ("output.weight".into(), (VOCABULARY, WIDTH).into()),
    ];
    for layer in 0..LAYERS {
        let mut add = |name: &str, shape: Shape| tensors.push((format!("blk.{layer}.{name}"), shape));
        for (name, rows) in [("attn_q", WIDTH), ("attn_k", KEYS), ("attn_v", KEYS), ("attn_output", WIDTH)] {
            add(&format!("{name}.weight"), (rows, WIDTH).into());
            add(&format!("{name}.bias"), rows.into());
        }
        for network in mlp {
            add(&format!("ffn_gate{network}.weight"), (2 * WIDTH, WIDTH).into());
            add(&format!("ffn_up{network}.weight"), (2 * WIDTH, WIDTH).into());
            add(&format!("ffn_down{network}.weight"), (WIDTH, 2 * WIDTH).into());
        }
        add("ffn_gate_inp.weight", (EXPERTS as usize, WIDTH).into());
        add("attn_norm.weight", WIDTH.into());
        add("ffn_norm.weight", WIDTH.into());
    }
    tensors
}

fn llama(device: &Device, products: Products, experts: u32, dtype: GgmlDType) -> Result<Vec<Tensor>> {
    let metadata = [
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.expert_count", Value::U32(experts)),
        ("llama.expert_used_count", Value::U32(2)),
        ("llama.attention.head_count", Value::U32(HEADS)),
        ("llama.attention.head_count_kv", Value::U32(KEY_HEADS)),
        ("llama.block_count", Value::U32(LAYERS)),
        ("llama.embedding_length", Value::U32(WIDTH as u32)),
        ("llama.rope.dimension_count", Value::U32(WIDTH as u32 / HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
    ];
    let mlp = match experts {
        0 => vec![String::new()],
        _ => (0..experts).map(|expert| format!(".{expert}")).collect(),
    };
    let mut file = file(&metadata, &decoder(&mlp), dtype, products)?;
    let mut model = quantized_llama::ModelWeights::from_gguf(Content::read(&mut file)?, &mut file, device)?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn llama_q4_0(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    llama(device, products, 0, GgmlDType::Q4_0)
}

pub fn llama_q8_0(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    llama(device, products, 0, GgmlDType::Q8_0)
}

pub fn llama_q4k(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    llama(device, products, 0, GgmlDType::Q4K)
}

/// Each token goes through two of four networks.
pub fn mixture_q5k(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    llama(device, products, EXPERTS, GgmlDType::Q5K)
}

pub fn qwen2_q6k(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    let metadata = [
        ("qwen2.attention.head_count", Value::U32(HEADS)),
        ("qwen2.attention.head_count_kv", Value::U32(KEY_HEADS)),
        ("qwen2.embedding_length", Value::U32(WIDTH as u32)),
        ("qwen2.context_length", Value::U32(32)),
        ("qwen2.block_count", Value::U32(LAYERS)),
        ("qwen2.attention.layer_norm_rms_epsilon", Value::F32(1e-6)),
    ];
    let mut file = file(&metadata, &decoder(&[String::new()]), GgmlDType::Q6K, products)?;
    let mut model = quantized_qwen2::ModelWeights::from_gguf(Content::read(&mut file)?, &mut file, device)?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

/// The tensors are those that T5 asks for.
pub fn t5_q5_0(device: &Device, products: Products) -> Result<Vec<Tensor>> {
    let asked = Weights::default();
    t5::T5ForConditionalGeneration::load(asked.builder(&Device::Cpu), &t5_config(128))?;
    let mut tensors = asked.asked.lock().expect("no thread panics").clone();
    tensors.sort_by(|one, other| one.0.cmp(&other.0));
    tensors.dedup_by(|one, other| one.0 == other.0);
    let file = file(&[], &tensors, GgmlDType::Q5_0, products)?.into_inner();
    let weights = quantized_t5::VarBuilder::from_gguf_buffer(&file, device)?;
    let mut model = quantized_t5::T5ForConditionalGeneration::load(weights, &t5_config(128))?;
    let encoded = model.encode(&tokens(PROMPT, device)?)?;
    let decoded = model.decode(&tokens(3, device)?, &encoded)?;
    Ok(vec![encoded, decoded])
}
