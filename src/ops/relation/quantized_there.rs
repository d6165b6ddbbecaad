//! `QMatMul` on another device.

use candle_core::Module;
use candle_core::quantized::QMatMul;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::Op;
use crate::ops::quantized::matmul::MATMUL;
use crate::ops::support::arguments::ELSEWHERE;
use crate::ops::support::other_device::{OBJECTS, there};
use crate::ops::support::products::ggml::{BLOCKS, matrix_shape, quantized};
use crate::tensor::{DType, Support};

/// One of the formats that both kernels of products have.
const FORMATS: &[&str] = &["Q4_0", "Q8_0"];

/// `QMatMul` with its matrix on the other device: `x` is copied there and the output back.
pub static QUANTIZED_THERE: Op = Op {
    name: "relation.quantized_there",
    covers: &["Tensor::to_device", "QMatMul"],
    support: &Support::both("x", &[DType::F32, DType::F16, DType::Bf16]),
    inputs: &[InputSpec::new("x", "(.., K), with two or three dimensions"), BLOCKS],
    params: &[ParamSpec::word("format", FORMATS, "The format of the blocks."), ELSEWHERE],
    generate: &|draw| {
        // `quantized.matmul` draws other formats, dtypes and views.
        let rows = *draw.choose(&[1, 2, 5, 9, 12])?;
        let (columns, width) = (32 * draw.between(1, 16)?, draw.between(1, 5)?);
        let x = draw.ordinary_tensor(DType::F32, &[rows, columns])?.contiguous();
        let blocks = draw.ordinary_tensor(DType::F32, &[width, columns])?.contiguous();
        let case = Case::default().input("x", x).input("blocks", blocks).param("format", *draw.choose(FORMATS)?);
        Ok(case.param("to", *draw.choose(OBJECTS)?))
    },
    contract: &|case| (MATMUL.contract)(case),
    call: &|call| {
        let there = there(call)?;
        let shape = matrix_shape(call.case).unwrap_or_default();
        let blocks = call.tensor("blocks")?.to_device(&there)?;
        let matrix = QMatMul::from_qtensor(quantized(call.case, &blocks, &shape)?)?;
        Ok(vec![matrix.forward(&call.tensor("x")?.to_device(&there)?)?.to_device(call.device)?])
    },
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        let here = device.clone();
        let device = {{ there }};
        let (x, blocks) = (x.to_device(device)?, blocks.to_device(device)?);
        {% include "quantized" %}
        candle_core::quantized::QMatMul::from_qtensor(matrix)?.forward(&x)?.to_device(&here)?
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: MATMUL.reference,
    ulps: 1.0,
    differentiable: &[],
    promise: "as for quantized.matmul and tensor.to_device: the device changes no value",
};
