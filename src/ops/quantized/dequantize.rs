//! `QTensor::dequantize` and `dequantize_f16`.

use candle_core::quantized::QTensor;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::{Device, Result};

use crate::case::{Case, ParamSpec};
use crate::ops::support::products::ggml::{
    BLOCKS, FORMAT, FORMATS, by_value, dequantized, draw_blocks, format_of, matrix_shape, quantized, without_matrix,
    without_scale,
};
use crate::ops::support::unaligned::{UNALIGNED, at_address};
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// The functions that make a quantized tensor of bytes.
const LOADERS: &[&str] = &["QTensor::new", "qtensor_from_ggml"];

/// The numbers in `blocks`, as `f32` and as `f16`.
pub static DEQUANTIZE: Op = Op {
    name: "quantized.dequantize",
    covers: &["QTensor::dequantize", "QTensor::dequantize_f16", "QTensor::new", "QStorage::from_data"],
    support: &Support::both("blocks", &[DType::U8, DType::F32]),
    inputs: &[BLOCKS],
    params: &[
        FORMAT,
        ParamSpec::word("loader", LOADERS, "The function that makes the tensor."),
        ParamSpec::size("rows", 1, "The number of rows that the tensor is given."),
        UNALIGNED.when("loader", LOADERS[1]),
    ],
    generate: &|draw| {
        let format = draw.choose(FORMATS)?;
        let (rows, blocks) = (draw.between(1, 4)?, draw.between(1, 512 / format.block)?);
        let case = Case::default().input("blocks", draw_blocks(draw, format, rows, blocks)?);
        let case = case.param("format", format.name).param("rows", rows);
        if by_value(&case) {
            return Ok(case);
        }
        // Unaligned bytes abort the process.
        Ok(match draw.between(0, 7)? {
            0 | 1 => case.param("loader", LOADERS[1]),
            2 => case.param("loader", LOADERS[1]).param("unaligned", 1_usize),
            _ => case,
        })
    },
    contract: &|case| match matrix_shape(case) {
        None => without_matrix(case),
        Some([rows, _]) if rows != case.size("rows") => Contract::Rejects(&rule::SHAPES),
        // A file has bytes.
        Some(_) if case.text("loader") == LOADERS[1] && by_value(case) => Contract::Unspecified(why::NO_CALL),
        Some(shape) => {
            if let Some(why) = without_scale(case) {
                return Contract::Unspecified(why);
            }
            let outputs = [DType::F32, DType::F16].map(|dtype| (dtype, shape.to_vec()));
            let accepts = Contract::Accepts { outputs: outputs.to_vec(), refusal: None };
            // Files have no such weights, and GPUs no such products.
            accepts.may_refuse(format_of(case).is_of_activations(), why::FORMAT)
        }
    },
    call: &|call| {
        let columns = matrix_shape(call.case).map_or(0, |[_, columns]| columns);
        let matrix = match call.case.text("loader") {
            loader if loader == LOADERS[1] => from_ggml(call)?,
            _ => quantized(call.case, call.tensor("blocks")?, &[call.size("rows"), columns])?,
        };
        Ok(vec![matrix.dequantize(call.device)?, matrix.dequantize_f16(call.device)?])
    },
    source: r#"
        {% if loader == "qtensor_from_ggml" %}
        let bytes = blocks.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u8>()?;
        let dtype = candle_core::quantized::GgmlDType::{{ format }};
        let columns = {{ inputs.blocks.shape[1] }} / dtype.type_size() * dtype.block_size();
        {% include "unaligned" %}
        let dims = vec![{{ rows }}, columns];
        let matrix = candle_core::quantized::ggml_file::qtensor_from_ggml(dtype, &bytes, dims, &device)?;
        {% else %}
        {% include "quantized" %}
        {% endif %}
        let outputs = [matrix.dequantize(&device)?, matrix.dequantize_f16(&device)?];
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| [DType::F32, DType::F16].map(|dtype| dequantized(inputs, dtype)).to_vec()),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/k_quants.rs:86-199 (GGML's formats), mod.rs:490-500, 672-694; llama.cpp \
              ggml-quants.c, `dequantize_row_…`; `Tensor::from_vec` rejects a different number of elements",
};

/// The blocks by the loader of GGML files, with as many columns as there are whole blocks.
fn from_ggml(call: &Call) -> Result<QTensor> {
    let (blocks, format) = (call.tensor("blocks")?, format_of(call.case));
    let columns = blocks.dims().last().map_or(0, |bytes| bytes / format.bytes * format.block);
    let bytes = blocks.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u8>()?;
    let load = |bytes: &[u8]| qtensor_from_ggml(format.dtype, bytes, vec![call.size("rows"), columns], call.device);
    at_address(&bytes, call.flag("unaligned"), load)
}
