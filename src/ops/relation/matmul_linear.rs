//! `matmul` of a sum.

use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec};
use crate::number::Num;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `(a + b) @ c` is `a @ c + b @ c`.
pub static MATMUL_LINEAR: Op = Op {
    name: "relation.matmul_linear",
    covers: &["Tensor::matmul"],
    support: &Support::both("a", &DType::FLOATS),
    inputs: &[
        InputSpec::new("a", "(M, K)"),
        InputSpec::new("b", "(K, N)"),
        InputSpec::new("c", "(K, N), added to `b`"),
    ],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(MATMUL_LINEAR.support)?;
        let (rows, inner, columns) = (draw.positive()?, draw.reduced()?, draw.positive()?);
        let case = Case::default().input("a", draw.tensor(dtype, &[rows, inner])?);
        let case = case.input("b", draw.tensor(dtype, &[rows, inner])?);
        Ok(case.input("c", draw.packed(dtype, &[inner, columns])?))
    },
    contract: &|case| {
        let (Some(a), Some(b), Some(c)) = (case.tensor("a"), case.tensor("b"), case.tensor("c")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        let (&[rows, inner], &[others, columns]) = (a.shape.as_slice(), c.shape.as_slice()) else {
            return Contract::Unspecified("inputs that are not matrices");
        };
        if inner != others || a.shape != b.shape {
            return Contract::Rejects(&rule::SHAPES);
        }
        if a.dtype != b.dtype || a.dtype != c.dtype {
            return Contract::Rejects(&rule::MIXED);
        }
        if !a.dtype.is_float() || rows * inner * columns == 0 {
            return Contract::Unspecified("a product of integers or of empty matrices");
        }
        Contract::accepts(a.dtype, &[rows, columns]).may_refuse(!c.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![(call.tensor("a")? + call.tensor("b")?)?.matmul(call.tensor("c")?)?]),
    source: "(&a + &b)?.matmul(&c)?",
    torch: "(a + b) @ c",
    reference: Some(&|inputs| {
        let (a, b, c) = (inputs.array("a"), inputs.array("b"), inputs.array("c"));
        let dot = |row: usize, column: usize| {
            let products = (0..c.shape()[0]).flat_map(|k| {
                let rounding = (a[[row, k]] + b[[row, k]]) - a[[row, k]] - b[[row, k]];
                [a[[row, k]], b[[row, k]], rounding].map(|factor| (factor, c[[k, column]]))
            });
            Num::dot(products)
        };
        vec![ArrayD::from_shape_fn(IxDyn(&[a.shape()[0], c.shape()[1]]), |index| dot(index[0], index[1]))]
    }),
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "matrix multiplication is linear",
};
