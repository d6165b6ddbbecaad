//! Language models that continue a text.

use candle_core::{DType, Device, Result, Tensor};
use candle_transformers::models::{
    falcon, gemma, gemma2, llama, mamba, mistral, mixtral, olmo2, phi, qwen2, qwen3, stable_lm, starcoder2,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::weights::{VOCABULARY, Weights, tokens, weights};

const PROMPT: usize = 7;

/// A prompt, and then one more token, for which the model uses the keys and the values that it kept.
pub fn continued(
    prompt: usize,
    device: &Device,
    mut forward: impl FnMut(&Tensor, usize) -> Result<Tensor>,
) -> Result<Vec<Tensor>> {
    let text = tokens(prompt + 1, device)?;
    Ok(vec![forward(&text.narrow(1, 0, prompt)?, 0)?, forward(&text.narrow(1, prompt, 1)?, prompt)?])
}

/// A configuration with the fields of all these models, but for `changes`. Each takes those that it knows.
pub fn config<T: DeserializeOwned>(changes: Value) -> T {
    let mut config = json!({
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "hidden_act": "silu",
        "attention_bias": true,
        "use_bias": true,
        "use_qkv_bias": true,
        "rms_norm_eps": 1e-6,
        "layer_norm_eps": 1e-5,
        "norm_epsilon": 1e-5,
        "max_position_embeddings": 64,
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        // Less than the prompt: the mask leaves out its beginning.
        "sliding_window": 4,
        "use_sliding_window": false,
        "max_window_layers": 2,
        "tie_word_embeddings": false,
        "use_cache": true,
        "use_flash_attn": false,
    });
    let fields = config.as_object_mut().expect("an object");
    if let Value::Object(changes) = changes {
        fields.extend(changes);
    }
    serde_json::from_value(config).expect("the fields of the model")
}

pub fn llama(device: &Device) -> Result<Vec<Tensor>> {
    let config = config::<llama::LlamaConfig>(json!({})).into_config(false);
    let mut cache = llama::Cache::new(true, DType::F32, &config, device)?;
    let model = llama::Llama::load(weights(device), &config)?;
    continued(PROMPT, device, |text, start| model.forward(text, start, &mut cache))
}

/// A larger llama, for measuring: its configuration in words, the number of its weights, and a forward pass of 32 tokens.
pub fn measured_llama(device: &Device) -> Result<(&'static str, usize, impl Fn() -> Result<Tensor> + use<>)> {
    let changes = json!({"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 8});
    let config = config::<llama::LlamaConfig>(changes).into_config(false);
    let all = Weights::default();
    let model = llama::Llama::load(all.builder(device), &config)?;
    let count = all.asked.lock().expect("no thread panics").iter().map(|(_, shape)| shape.elem_count()).sum();
    let (text, device) = (tokens(32, device)?, device.clone());
    let forward = move || {
        let mut cache = llama::Cache::new(false, DType::F32, &config, &device)?;
        model.forward(&text, 0, &mut cache)?.to_device(&Device::Cpu)
    };
    Ok(("4 layers, hidden size 256, 8 heads and 2 of keys and values, intermediate size 704", count, forward))
}

pub fn mistral(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = mistral::Model::new(&config(json!({})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn phi(device: &Device) -> Result<Vec<Tensor>> {
    let mut model =
        phi::Model::new(&config(json!({"hidden_act": "gelu_new", "qk_layernorm": false})), weights(device))?;
    continued(PROMPT, device, |text, _| model.forward(text))
}

pub fn qwen2(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = qwen2::ModelForCausalLM::new(&config(json!({})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn qwen3(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = qwen3::ModelForCausalLM::new(&config(json!({"sliding_window": null})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn gemma(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = gemma::Model::new(false, &config(json!({"hidden_act": "gelu"})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn gemma2(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({
        "hidden_activation": "gelu_pytorch_tanh",
        "final_logit_softcapping": 30.0,
        "attn_logit_softcapping": 50.0,
        "query_pre_attn_scalar": 16,
    }));
    let mut model = gemma2::Model::new(false, &config, weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn mixtral(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({"num_experts_per_tok": 2, "num_local_experts": 4}));
    let mut model = mixtral::Model::new(&config, weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn starcoder2(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = starcoder2::Model::new(&config(json!({"hidden_act": "gelu_pytorch_tanh"})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn stable_lm(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = stable_lm::Model::new(&config(json!({})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn olmo2(device: &Device) -> Result<Vec<Tensor>> {
    let mut model = olmo2::Model::new(&config(json!({})), weights(device))?;
    continued(PROMPT, device, |text, start| model.forward(text, start))
}

pub fn falcon(device: &Device) -> Result<Vec<Tensor>> {
    let config = falcon::Config {
        vocab_size: VOCABULARY,
        hidden_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        ..falcon::Config::falcon7b()
    };
    let mut model = falcon::Falcon::load(weights(device), config)?;
    continued(PROMPT, device, |text, _| model.forward(text))
}

/// Mamba takes one token at a time, and keeps a state instead of keys and values.
pub fn mamba(device: &Device) -> Result<Vec<Tensor>> {
    let config = config(json!({"d_model": 64, "n_layer": 2, "pad_vocab_size_multiple": 8}));
    let model = mamba::Model::new(&config, weights(device))?;
    let mut state = mamba::State::new(1, &config, DType::F32, device)?;
    let text = tokens(PROMPT, device)?;
    (0..PROMPT).map(|place| model.forward(&text.narrow(1, place, 1)?.squeeze(0)?, &mut state)).collect()
}
