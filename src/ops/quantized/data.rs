//! `QTensor::data`: the blocks that quantizing makes.

use candle_core::Tensor as Candle;
use candle_core::quantized::QTensor;
use ndarray::{ArrayD, IxDyn};

use super::quantize::{X, contract, numbers};
use crate::number::Num;
use crate::ops::support::products::ggml::{FORMAT, Format, encode, format_of};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `QTensor::quantize(x, format)?.data()`: the blocks of each row, which a later step can take as its quantized matrix.
pub static DATA: Op = Op {
    name: "quantized.data",
    covers: &["QTensor::quantize", "QTensor::data"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[X],
    params: &[FORMAT],
    generate: &|draw| numbers(draw, DATA.support),
    contract: &|case| contract(case, |x, format| Contract::accepts(DType::U8, &blocks_of(x, format))),
    call: &|call| {
        let (x, format) = (call.tensor("x")?, format_of(call.case));
        let bytes = QTensor::quantize(x, format.dtype)?.data()?.into_owned();
        Ok(vec![Candle::from_vec(bytes, blocks_of(x.dims(), format), call.device)?])
    },
    source: r"
        let dtype = candle_core::quantized::GgmlDType::{{ format }};
        let bytes = candle_core::quantized::QTensor::quantize(&x, dtype)?.data()?.into_owned();
        let mut shape = x.dims().to_vec();
        let columns = shape.pop().unwrap_or(0);
        shape.push(columns / dtype.block_size() * dtype.type_size());
        Tensor::from_vec(bytes, shape, &device)?
    ",
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let (x, format) = (inputs.array("x"), format_of(inputs.case));
        let shape = blocks_of(x.shape(), format);
        let numbers: Vec<Num> = x.iter().copied().collect();
        let block = |numbers: &[Num]| {
            let is_certain = numbers.iter().all(|number| number.error == 0.0 && !number.indeterminate);
            let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
            let bytes = if is_certain { encode(format, &values) } else { None };
            bytes.map_or_else(
                || vec![Num::unknown(); format.bytes],
                |bytes| bytes.into_iter().map(|byte| Num::exact(byte.into())).collect(),
            )
        };
        let bytes = numbers.chunks(format.block).flat_map(block).collect();
        vec![ArrayD::from_shape_vec(IxDyn(&shape), bytes).expect("whole blocks")]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/mod.rs:555-573, 758-760; llama.cpp ggml-quants.c, `quantize_row_q4_0_ref` and its \
              siblings: one scale for each block, and the nearest level for each number",
};

/// The shape of the bytes of numbers of this shape.
fn blocks_of(shape: &[usize], format: &Format) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(last) = shape.last_mut() {
        *last = *last / format.block * format.bytes;
    }
    shape
}
