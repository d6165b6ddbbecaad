//! `QTensor::indexed_moe_forward`.

use candle_core::quantized::QTensor;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::products::ggml::{
    BLOCKS, EXPERTS, FORMAT, draw_blocks, draw_format, elements, format_of, matrix_shape, product, quantized,
    shape_of_experts, without_matrix, without_scale,
};
use crate::ops::{Call, Contract, Op, in_range, rule, why};
use crate::tensor::{DType, Support};

/// `experts.indexed_moe_forward(x, ids)`: for each row of `x` and each of its ids, the product with the matrix of that expert.
pub static INDEXED_MOE_FORWARD: Op = Op {
    name: "quantized.indexed_moe_forward",
    covers: &["QTensor::indexed_moe_forward"],
    support: &Support { of: "x", cpu: &[], cuda: &[DType::F32] },
    inputs: &[
        InputSpec::new("x", "(B, 1 or T, K)"),
        InputSpec::new("ids", "(B, T), u32: an expert of each row").discrete(),
        BLOCKS,
    ],
    params: &[FORMAT, ParamSpec::size("experts", 1, "The number of experts, which share the rows of the blocks.")],
    generate: &|draw| {
        let format = draw_format(draw)?;
        let (experts, rows) = (draw.between(1, 4)?, draw.between(1, 3)?);
        let (batch, count, blocks) = (draw.between(1, 3)?, draw.between(1, 3)?, draw.between(1, 512 / format.block)?);
        let dtype = draw.dtype(INDEXED_MOE_FORWARD.support)?;
        let inner = if draw.one_in(2)? { 1 } else { count };
        let x = draw.ordinary_tensor(dtype, &[batch, inner, blocks * format.block])?;
        let ids = draw.ids(DType::U32, &[batch, count], experts)?;
        let views = draw.one_in(4)?;
        let (x, ids) = if views { (x, ids) } else { (x.contiguous(), ids.contiguous()) };
        let case = Case::default().input("blocks", draw_blocks(draw, format, experts * rows, blocks)?);
        Ok(case.input("x", x).input("ids", ids).param("format", format.name).param("experts", experts))
    },
    contract: &|case| {
        let Some([experts, rows, columns]) = shape(case) else {
            return without_matrix(case);
        };
        let (Some(x), Some(ids)) = (case.tensor("x"), case.tensor("ids")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        let (&[batch, inner, last], &[ids_batch, count]) = (x.shape.as_slice(), ids.shape.as_slice()) else {
            return Contract::Rejects(&rule::RANK);
        };
        if last != columns || batch != ids_batch || (inner != 1 && inner != count) {
            return Contract::Rejects(&rule::SHAPES);
        }
        if ids.dtype != DType::U32 {
            return Contract::Rejects(&rule::EXPERTS_DTYPE);
        }
        if ids.ints().iter().any(|&id| !in_range(id, experts)) {
            return Contract::Rejects(&rule::ID);
        }
        if x.dtype != DType::F32 {
            return Contract::Rejects(&rule::ACTIVATIONS);
        }
        if let Some(why) = without_scale(case) {
            return Contract::Unspecified(why);
        }
        let has_kernel = EXPERTS.iter().any(|format| format.name == format_of(case).name);
        let accepts = Contract::accepts(DType::F32, &[batch, count, rows]);
        accepts.may_refuse(!case.is_contiguous(), why::CONTIGUOUS).may_refuse(!has_kernel, why::FORMAT)
    },
    call: &|call| Ok(vec![experts(call)?.indexed_moe_forward(call.tensor("x")?, call.tensor("ids")?)?]),
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        {% include "quantized" %}
        matrix.indexed_moe_forward(&x, &ids)?
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let ([_, rows, columns], weights) = (shape(inputs.case).unwrap_or([0, 0, 1]), elements(inputs));
        let (x, ids) = (inputs.array("x"), inputs.ids("ids"));
        let (inner, count) = (x.shape()[1], ids.shape()[1]);
        let x: Vec<Num> = x.iter().copied().collect();
        let pair = |(place, &id): (usize, &i64)| {
            let (batch, of) = (place / count, if inner == 1 { 0 } else { place % count });
            let x = &x[(batch * inner + of) * columns..][..columns];
            let expert = usize::try_from(id).unwrap_or(0) * rows * columns;
            let weights = weights[expert..expert + rows * columns].chunks(columns);
            weights.map(|weights| product(format_of(inputs.case), x, weights)).collect::<Vec<_>>()
        };
        let products = ids.iter().enumerate().flat_map(pair).collect();
        let shape = [ids.shape(), &[rows]].concat();
        vec![ArrayD::from_shape_vec(IxDyn(&shape), products).expect("a product for each pair")]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/cuda.rs:505-617 (the shapes of its comments), mod.rs:1092-1100 (its sibling \
              `indexed_gemv`: \"expert index out of range\"); llama.cpp `ggml_mul_mat_id`; as for quantized.matmul",
};

/// The shape of the experts; `None` if the rows of the blocks are not those of as many experts.
fn shape(case: &Case) -> Option<[usize; 3]> {
    let ([rows, columns], experts) = (matrix_shape(case)?, case.size("experts"));
    (experts > 0 && rows % experts == 0).then(|| [experts, rows / experts, columns])
}

/// The experts' matrices.
fn experts(call: &Call) -> candle_core::Result<QTensor> {
    quantized(call.case, call.tensor("blocks")?, &shape_of_experts(call.case))
}
