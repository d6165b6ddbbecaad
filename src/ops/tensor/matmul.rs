//! Products of matrices, in batches of equal dimensions.

use crate::case::InputSpec;
use crate::ops::support::products::matrix_products::{PRODUCT_PROMISE, PRODUCT_SUPPORT, contract, generate, reference};
use crate::ops::{Op, rule};

/// `x (.., M, K)` times `rhs (.., K, N)` with the same batch: `out[.., i, j] = sum(x[.., i, k] * rhs[.., k, j])`.
pub static MATMUL: Op = Op {
    name: "tensor.matmul",
    covers: &["Tensor::matmul"],
    support: PRODUCT_SUPPORT,
    inputs: &[InputSpec::new("x", "(.., M, K)"), InputSpec::new("rhs", "(.., K, N), with the same batches")],
    params: &[],
    generate: &|draw| {
        let batch = draw.open_shape(0, 2)?;
        generate(draw, &batch, &batch)
    },
    contract: &|case| contract(case, |x, rhs| (x == rhs).then(|| x.to_vec()), &rule::BATCHES),
    call: &|call| Ok(vec![call.tensor("x")?.matmul(call.tensor("rhs")?)?]),
    source: "x.matmul(&rhs)?",
    torch: "x @ rhs",
    reference: Some(&reference),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: PRODUCT_PROMISE,
};
