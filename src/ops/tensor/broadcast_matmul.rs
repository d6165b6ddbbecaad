//! Products of matrices, in batches that broadcast.

use crate::case::InputSpec;
use crate::ops::support::products::matrix_products::{PRODUCT_PROMISE, PRODUCT_SUPPORT, contract, generate, reference};
use crate::ops::support::reference_inputs::broadcast_shape;
use crate::ops::{Op, rule};

/// As [`super::matmul::MATMUL`], with the batches broadcast against each other.
pub static BROADCAST_MATMUL: Op = Op {
    name: "tensor.broadcast_matmul",
    covers: &["Tensor::broadcast_matmul"],
    support: PRODUCT_SUPPORT,
    inputs: &[InputSpec::new("x", "(.., M, K)"), InputSpec::new("rhs", "(.., K, N), batches broadcast")],
    params: &[],
    generate: &|draw| {
        let batch = draw.open_shape(0, 2)?;
        let mut batches = [batch.clone(), batch];
        for batch in &mut batches {
            // Each side may lack leading dimensions, or have size 1 in some.
            let cut = draw.between(0, batch.len())?;
            if draw.one_in(2)? {
                batch.drain(..cut);
            }
            for size in batch {
                *size = if draw.one_in(3)? { 1 } else { *size };
            }
        }
        generate(draw, &batches[0], &batches[1])
    },
    contract: &|case| contract(case, broadcast_shape, &rule::BROADCAST_BATCHES),
    call: &|call| Ok(vec![call.tensor("x")?.broadcast_matmul(call.tensor("rhs")?)?]),
    source: "x.broadcast_matmul(&rhs)?",
    torch: "x @ rhs",
    reference: Some(&reference),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: PRODUCT_PROMISE,
};
