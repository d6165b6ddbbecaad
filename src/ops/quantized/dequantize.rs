//! `QTensor::dequantize` and `dequantize_f16`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::products::ggml::{
    BLOCKS, FORMAT, FORMATS, dequantized, draw_blocks, matrix_shape, quantized, within_scales, without_matrix,
};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// The numbers in `blocks`, as `f32` and as `f16`.
pub static DEQUANTIZE: Op = Op {
    name: "quantized.dequantize",
    covers: &["QTensor::dequantize", "QTensor::dequantize_f16", "QTensor::new", "QStorage::from_data"],
    support: &Support::both("blocks", &[DType::U8]),
    inputs: &[BLOCKS],
    params: &[FORMAT, ParamSpec::size("rows", 1, "The number of rows that the tensor is given.")],
    generate: &|draw| {
        let format = draw.choose(FORMATS)?;
        let (rows, blocks) = (draw.between(1, 4)?, draw.between(1, 512 / format.block)?);
        let case = Case::default().input("blocks", draw_blocks(draw, format, rows, blocks)?);
        Ok(case.param("format", format.name).param("rows", rows))
    },
    contract: &|case| match matrix_shape(case) {
        None => without_matrix(case),
        Some([rows, _]) if rows != case.size("rows") => Contract::Rejects(&rule::SHAPES),
        Some(_) if !within_scales(case) => Contract::Unspecified(why::BEYOND_SCALES),
        Some(shape) => {
            let outputs = [DType::F32, DType::F16].map(|dtype| (dtype, shape.to_vec()));
            Contract::Accepts { outputs: outputs.to_vec(), refusal: None }
        }
    },
    call: &|call| {
        let columns = matrix_shape(call.case).map_or(0, |[_, columns]| columns);
        let matrix = quantized(call.case, call.tensor("blocks")?, &[call.size("rows"), columns])?;
        Ok(vec![matrix.dequantize(call.device)?, matrix.dequantize_f16(call.device)?])
    },
    source: r#"
        {% include "quantized" %}
        let outputs = [matrix.dequantize(&device)?, matrix.dequantize_f16(&device)?];
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| [DType::F32, DType::F16].map(|dtype| dequantized(inputs.case, dtype)).to_vec()),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/k_quants.rs:86-199 (GGML's formats), mod.rs:490-500, 672-694; llama.cpp \
              ggml-quants.c, `dequantize_row_…`; `Tensor::from_vec` rejects a different number of elements",
};
