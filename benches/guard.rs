//! The cost of the guard: the time of its checks, and of the forward step that they precede, on the CPU.
//!
//! `cargo bench --bench guard`; each figure is the median of many runs.

use std::time::{Duration, Instant};

use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{Conv2d, Embedding, Linear, loss};
use snuffer::guard;

fn main() -> Result<()> {
    println!("{:28} {:>12} {:>12} {:>8}", "step", "forward", "guard", "share");
    classifier(64)?;
    classifier(1024)?;
    images(32)?;
    language(8, 128)?;
    language(8, 512)?;
    Ok(())
}

/// Two layers over 784 pixels, 10 classes.
fn classifier(batch: usize) -> Result<()> {
    let (hidden, head) = (linear(784, 128)?, linear(128, 10)?);
    let (x, target) = (normal(&[batch, 784])?, below(10, batch)?);
    let forward = || {
        let logits = head.forward(&hidden.forward(&x)?.relu()?)?;
        loss::cross_entropy(&logits, &target)
    };
    let logits = Tensor::zeros((batch, 10), DType::F32, &Device::Cpu)?;
    let guard = || {
        guard::finite("x", &x)?;
        guard::labels("target", &target, 10, None)?;
        guard::Call::new("loss.cross_entropy").input("inp", &logits).input("target", &target).check()?;
        Ok(())
    };
    report(&format!("perceptron, batch {batch}"), forward, guard)
}

/// Three convolutions over images of 3 by 64 by 64, 100 classes.
fn images(batch: usize) -> Result<()> {
    let config = candle_nn::Conv2dConfig { stride: 2, padding: 1, ..Default::default() };
    let layer = |inner: usize, outer: usize| {
        Ok::<_, candle_core::Error>(Conv2d::new(normal(&[outer, inner, 3, 3])?, None, config))
    };
    let (layers, head) = ([layer(3, 32)?, layer(32, 64)?, layer(64, 64)?], linear(64 * 64, 100)?);
    let (x, target) = (normal(&[batch, 3, 64, 64])?, below(100, batch)?);
    let forward = || {
        let features = layers.iter().try_fold(x.clone(), |x, layer| layer.forward(&x)?.relu())?;
        loss::cross_entropy(&head.forward(&features.flatten_from(1)?)?, &target)
    };
    let guard = || {
        guard::finite("x", &x)?;
        guard::labels("target", &target, 100, None)?;
        guard::Call::new("tensor.conv2d")
            .input("x", &x)
            .input("kernel", layers[0].weight())
            .param("stride", 2i64)
            .param("padding", 1i64)
            .check()?;
        Ok(())
    };
    report(&format!("convolutions, batch {batch}"), forward, guard)
}

/// An embedding, two layers and a head over a vocabulary of 32,000.
fn language(batch: usize, length: usize) -> Result<()> {
    const VOCABULARY: usize = 32_000;
    let (width, tokens) = (256, batch * length);
    let embedding = Embedding::new(normal(&[VOCABULARY, width])?, width);
    let (layers, head) = ([linear(width, width)?, linear(width, width)?], linear(width, VOCABULARY)?);
    let (ids, target) = (below(VOCABULARY, tokens)?.reshape((batch, length))?, below(VOCABULARY, tokens)?);
    let forward = || {
        let x = embedding.forward(&ids)?.reshape((tokens, width))?;
        let x = layers.iter().try_fold(x, |x, layer| layer.forward(&x)?.gelu())?;
        loss::cross_entropy(&head.forward(&x)?, &target)
    };
    let guard = || {
        guard::ids("ids", &ids, VOCABULARY)?;
        guard::labels("target", &target, VOCABULARY, None)?;
        let call = guard::Call::new("layer.embedding").input("weight", embedding.embeddings()).input("ids", &ids);
        call.param("hidden", width).check()?;
        Ok(())
    };
    report(&format!("language, {batch} of {length}"), forward, guard)
}

fn linear(inner: usize, outer: usize) -> Result<Linear> {
    Ok(Linear::new((normal(&[outer, inner])? * 0.05)?, None))
}

fn normal(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(0f32, 1f32, shape, &Device::Cpu)
}

fn below(size: usize, count: usize) -> Result<Tensor> {
    let ids: Vec<u32> = (0..count).map(|place| (place * 7919 % size) as u32).collect();
    Tensor::new(ids, &Device::Cpu)
}

fn report(step: &str, forward: impl Fn() -> Result<Tensor>, guard: impl Fn() -> Result<()>) -> Result<()> {
    let forward = median(|| forward().map(drop))?;
    let guard = median(guard)?;
    let share = guard.as_secs_f64() / forward.as_secs_f64();
    println!("{step:28} {forward:>12.1?} {guard:>12.1?} {:>7.2} %", share * 100.0);
    Ok(())
}

fn median(act: impl Fn() -> Result<()>) -> Result<Duration> {
    act()?;
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 15 || (begun.elapsed() < Duration::from_secs(2) && times.len() < 500) {
        let begun = Instant::now();
        act()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
