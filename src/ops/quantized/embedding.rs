//! `QTensor::embedding`.

use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::{Case, InputSpec};
use crate::ops::support::products::ggml::{
    BLOCKS, FORMAT, FORMATS, dequantized, draw_blocks, format_of, matrix_shape, quantized, without_matrix,
    without_scale,
};
use crate::ops::{Contract, Op, in_range, rule, why};
use crate::tensor::{DType, Support};

/// `QTensor::embedding(ids)`: the rows of a quantized matrix that `ids` names, as `f32`.
pub static EMBEDDING: Op = Op {
    name: "quantized.embedding",
    covers: &["QTensor::embedding"],
    support: &Support::both("ids", &[DType::U32, DType::I64, DType::U8]),
    inputs: &[BLOCKS, InputSpec::new("ids", "of any shape, integers below N").discrete()],
    params: &[FORMAT],
    generate: &|draw| {
        let format = draw.choose(FORMATS)?;
        let (rows, blocks) = (draw.between(1, 6)?, draw.between(1, 512 / format.block)?);
        let (dtype, shape) = (draw.id_dtype()?, draw.shape(0, 3)?);
        let blocks = draw_blocks(draw, format, rows, blocks)?;
        let case = Case::default().input("blocks", blocks).input("ids", draw.ids(dtype, &shape, rows)?);
        Ok(case.param("format", format.name))
    },
    contract: &|case| {
        let (Some([rows, columns]), Some(ids)) = (matrix_shape(case), case.tensor("ids")) else {
            return without_matrix(case);
        };
        if ids.dtype.is_float() {
            return Contract::Rejects(&rule::ID_DTYPE);
        }
        if ids.ints().iter().any(|&id| !in_range(id, rows)) {
            return Contract::Rejects(&rule::ID);
        }
        if let Some(why) = without_scale(case) {
            return Contract::Unspecified(why);
        }
        let accepts = Contract::accepts(DType::F32, &[&ids.shape[..], &[columns]].concat());
        accepts.may_refuse(format_of(case).is_of_activations(), why::FORMAT)
    },
    call: &|call| {
        let shape = matrix_shape(call.case).unwrap_or_default();
        Ok(vec![quantized(call.case, call.tensor("blocks")?, &shape)?.embedding(call.tensor("ids")?)?])
    },
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        {% include "quantized" %}
        matrix.embedding(&ids)?
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let matrix = dequantized(inputs, DType::F32);
        let ids = inputs.ids("ids");
        let rows: Vec<usize> = ids.iter().map(|&id| usize::try_from(id).unwrap_or(0)).collect();
        let shape = [ids.shape(), &[matrix.shape()[1]]].concat();
        let found: Vec<_> = matrix.select(Axis(0), &rows).iter().copied().collect();
        vec![ArrayD::from_shape_vec(IxDyn(&shape), found).expect("a row for each id")]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/mod.rs:446-475 (\"embedding id … is out of range\"), 696-736; llama.cpp `ggml_get_rows`; \
              as for quantized.dequantize and tensor.embedding; torch.nn.functional.embedding takes no floats for ids",
};
