//! `snuffer` for ops that a program defines: `cargo run --example own_ops -- hunt --time 10s`.

use candle_core::{D, Result, Tensor};
use snuffer::ops::Op;

/// `log(sum(exp(x)))` of each row, without subtracting the maximum first.
fn log_sum_exp() -> &'static Op {
    snuffer::define("log_sum_exp")
        .floats("x", "rows columns")
        .output("rows")
        .reference(|args| args.tensor("x")?.log_sum_exp(D::Minus1))
        .call(|args| args.tensor("x")?.exp()?.sum(D::Minus1)?.log())
}

/// The mean of labels, rounded down. It divides by their number.
fn mean_label() -> &'static Op {
    let mean = |labels: &Tensor| {
        let labels = labels.to_dtype(candle_core::DType::U32)?.to_vec1::<u32>()?;
        let sum: u64 = labels.iter().copied().map(u64::from).sum();
        Tensor::new(u32::try_from(sum / labels.len() as u64)?, &candle_core::Device::Cpu)
    };
    snuffer::define("mean_label")
        .labels("labels", "n", "classes")
        .size("classes", [10])
        .call(move |args| mean(args.tensor("labels")?))
}

/// The first half of the elements, as a sum.
fn first_half() -> &'static Op {
    let sum = |x: &Tensor| -> Result<Tensor> { x.narrow(0, 0, x.dim(0)? / 2)?.sum_all() };
    snuffer::define("first_half").floats("x", "n").output("").call(move |args| sum(args.tensor("x")?))
}

snuffer::main!(log_sum_exp(), mean_label(), first_half());
