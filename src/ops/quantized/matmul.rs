//! `QMatMul`.

use candle_core::Module;
use candle_core::quantized::QMatMul;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec};
use crate::number::Num;
use crate::ops::support::products::ggml::{
    BLOCKS, FORMAT, FORMATS, draw_blocks, elements, format_of, matrix_shape, product, quantized, without_matrix,
    without_scale,
};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `QMatMul::from_qtensor(matrix).forward(x)`: the products of the rows of `x (.., K)` with the rows of a quantized matrix.
pub static MATMUL: Op = Op {
    name: "quantized.matmul",
    covers: &["QMatMul", "QMatMul::from_qtensor"],
    support: &Support::both("x", &[DType::F32, DType::F16, DType::Bf16]),
    inputs: &[InputSpec::new("x", "(.., K), with two or three dimensions"), BLOCKS],
    params: &[FORMAT],
    generate: &|draw| {
        let format = draw.choose(FORMATS)?;
        let dtype = draw.dtype(MATMUL.support)?;
        let (rows, blocks) = (*draw.choose(&[1, 2, 3, 4, 5, 8])?, draw.between(1, 512 / format.block)?);
        // Up to eight rows of activations have a kernel of their own.
        let count = *draw.choose(&[1, 1, 2, 3, 4, 5, 7, 8, 9, 12])?;
        let mut shape = vec![count, blocks * format.block];
        if draw.one_in(3)? {
            shape.insert(0, draw.between(1, 3)?);
        }
        let x = draw.ordinary_tensor(dtype, &shape)?;
        let x = if draw.one_in(4)? { x } else { x.contiguous() };
        let case = Case::default().input("x", x).input("blocks", draw_blocks(draw, format, rows, blocks)?);
        Ok(case.param("format", format.name))
    },
    contract: &|case| {
        let (Some([rows, columns]), Some(x)) = (matrix_shape(case), case.tensor("x")) else {
            return without_matrix(case);
        };
        let Some((&last, others)) = x.shape.split_last().filter(|(_, others)| !others.is_empty()) else {
            return Contract::Rejects(&rule::RANK);
        };
        if last != columns {
            return Contract::Rejects(&rule::SHAPES);
        }
        if !x.dtype.is_float() {
            return Contract::Rejects(&rule::QUANTIZED_PRODUCT);
        }
        if let Some(why) = without_scale(case) {
            return Contract::Unspecified(why);
        }
        let accepts = Contract::accepts(x.dtype, &[others, &[rows]].concat());
        let accepts = accepts.may_refuse(format_of(case).is_of_activations(), why::FORMAT);
        accepts.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS).may_refuse(x.shape.len() > 3, why::FOUR_DIMENSIONS)
    },
    call: &|call| {
        let shape = matrix_shape(call.case).unwrap_or_default();
        let matrix = quantized(call.case, call.tensor("blocks")?, &shape)?;
        Ok(vec![QMatMul::from_qtensor(matrix)?.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        {% include "quantized" %}
        candle_core::quantized::QMatMul::from_qtensor(matrix)?.forward(&x)?
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let ([rows, columns], weights) = (matrix_shape(inputs.case).unwrap_or([0, 1]), elements(inputs));
        let x = inputs.array("x");
        let mut shape = x.shape().to_vec();
        shape.pop();
        shape.push(rows);
        let x: Vec<Num> = x.iter().copied().collect();
        let row = |x| weights.chunks(columns).map(move |weights| product(format_of(inputs.case), x, weights));
        let products = x.chunks(columns).flat_map(row).collect();
        vec![ArrayD::from_shape_vec(IxDyn(&shape), products).expect("a product for each pair of rows")]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/mod.rs:1173-1292, k_quants.rs:2421-2440 (activations are quantized to the \
              format's `VecDotType`), cuda.rs:846-877; llama.cpp `ggml_mul_mat`",
};
