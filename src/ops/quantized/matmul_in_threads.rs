//! `QMatMul` in two threads at once.

use std::panic::resume_unwind;
use std::sync::Barrier;

use candle_core::Module;
use candle_core::quantized::QMatMul;

use super::matmul::MATMUL;
use crate::case::{Backward, Case, InputSpec};
use crate::ops::support::products::ggml::{BLOCKS, FORMAT, matrix_shape, quantized};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `QMatMul::forward(x)` of one matrix in two threads, which wait for the device when both have called it.
pub static MATMUL_IN_THREADS: Op = Op {
    name: "quantized.matmul_in_threads",
    covers: &["QMatMul"],
    support: &Support::both("x", &[DType::F32, DType::F16, DType::Bf16]),
    inputs: &[InputSpec::new("x", "(.., K), with two or three dimensions"), BLOCKS],
    params: &[FORMAT],
    generate: &|draw| Ok(Case { backward: Backward::None, ..(MATMUL.generate)(draw)? }),
    contract: &|case| match (MATMUL.contract)(case) {
        Contract::Accepts { outputs, refusal } => {
            Contract::Accepts { outputs: vec![outputs[0].clone(), outputs[0].clone()], refusal }
        }
        other => other,
    },
    call: &|call| {
        let shape = matrix_shape(call.case).unwrap_or_default();
        let matrix = QMatMul::from_qtensor(quantized(call.case, call.tensor("blocks")?, &shape)?)?;
        let x = call.tensor("x")?;
        let both = Barrier::new(2);
        // What the threads share is there before they begin.
        x.device().synchronize()?;
        std::thread::scope(|scope| {
            let product = || {
                let product = matrix.forward(x);
                both.wait();
                x.device().synchronize()?;
                product
            };
            let threads = [scope.spawn(product), scope.spawn(product)];
            // Both panic, or none: each has the same call.
            let joined = threads.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.into_iter().collect()
        })
    },
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        {% include "quantized" %}
        let matrix = candle_core::quantized::QMatMul::from_qtensor(matrix)?;
        let both = std::sync::Barrier::new(2);
        x.device().synchronize()?;
        let outputs = std::thread::scope(|scope| {
            let product = || -> Result<Tensor> {
                let product = matrix.forward(&x);
                both.wait();
                x.device().synchronize()?;
                product
            };
            let threads = [scope.spawn(product), scope.spawn(product)];
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
        })?;
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        MATMUL.reference.map(|of| of(inputs)).into_iter().flat_map(|one| [one.clone(), one].concat()).collect()
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "Rust: candle's tensors and devices are Send and Sync; quantized.matmul",
};
