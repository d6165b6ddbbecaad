//! A server in small: threads that answer requests with one model on one device. As in a GGUF file, the last layer is quantized.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{Embedding, LayerNorm, Linear, VarBuilder, VarMap};

/// The number of tokens that the model knows.
pub const TOKENS: usize = 48;
/// The size of its vectors: a row of a quantized matrix is made of blocks of 32 numbers.
const WIDTH: usize = 64;

/// A model that scores the next token.
pub struct Model {
    embedding: Embedding,
    norm: LayerNorm,
    inner: Linear,
    head: QMatMul,
    device: Device,
}

impl Model {
    /// A model with random weights.
    pub fn new(device: &Device) -> Result<Self> {
        let weights = VarMap::new();
        let vb = VarBuilder::from_varmap(&weights, DType::F32, device);
        let head = Tensor::randn(0f32, 1., (TOKENS, WIDTH), device)?;
        Ok(Self {
            embedding: candle_nn::embedding(TOKENS, WIDTH, vb.pp("embedding"))?,
            norm: candle_nn::layer_norm(WIDTH, 1e-5, vb.pp("norm"))?,
            inner: candle_nn::linear(WIDTH, WIDTH, vb.pp("inner"))?,
            head: QMatMul::from_qtensor(QTensor::quantize(&head, GgmlDType::Q8_0)?)?,
            device: device.clone(),
        })
    }

    /// The probability of each token to follow these.
    pub fn answer(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        let tokens = Tensor::new(tokens, &self.device)?;
        let x = self.embedding.forward(&tokens)?;
        let x = (self.inner.forward(&self.norm.forward(&x)?)?.gelu()? + x)?;
        let scores = self.head.forward(&x.mean_keepdim(0)?)?;
        candle_nn::ops::softmax_last_dim(&scores)?.squeeze(0)?.to_vec1()
    }
}

/// The answers to `requests`, by as many threads, each of which takes the next request when it has answered one.
pub fn serve(model: &Model, requests: &[Vec<u32>], threads: usize) -> Result<Vec<Vec<f32>>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<f32>)>> {
        let mut answers = Vec::new();
        while let Some((number, request)) = take(&next, requests) {
            answers.push((number, model.answer(request)?));
        }
        Ok(answers)
    };
    let all: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let mut answers = Vec::new();
    for of_one in all {
        answers.extend(of_one?);
    }
    answers.sort_by_key(|(number, _)| *number);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The next request, with its number.
fn take<'a>(next: &AtomicUsize, requests: &'a [Vec<u32>]) -> Option<(usize, &'a Vec<u32>)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    requests.get(number).map(|request| (number, request))
}
