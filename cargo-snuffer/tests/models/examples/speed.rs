//! How much longer a forward pass of a small llama takes on the CUDA device than on candle's CPU backend: the medians of runs that
//! take turns.

use std::time::{Duration, Instant};

use candle_core::{Device, Result, Tensor};
use models::decoders::measured_llama;

const RUNS: usize = 9;

fn timed(forward: &impl Fn() -> Result<Tensor>) -> Result<Duration> {
    let begun = Instant::now();
    forward()?;
    Ok(begun.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let (words, weights, cpu) = measured_llama(&Device::Cpu)?;
    let (_, _, cuda) = measured_llama(&Device::new_cuda(0)?)?;
    // The first run loads the kernels.
    timed(&cpu)?;
    timed(&cuda)?;
    let (mut on_cpu, mut on_cuda) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        on_cpu.push(timed(&cpu)?);
        on_cuda.push(timed(&cuda)?);
    }
    let (on_cpu, on_cuda) = (median(on_cpu), median(on_cuda));
    let ratio = on_cuda.as_secs_f64() / on_cpu.as_secs_f64();
    println!("llama: {words}; {weights} weights, 32 tokens");
    println!("CPU {on_cpu:.1?}, CUDA {on_cuda:.1?}: {ratio:.1} times as long");
    Ok(())
}
