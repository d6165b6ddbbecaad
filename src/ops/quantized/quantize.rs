//! `QTensor::quantize`.

use candle_core::quantized::QTensor;

use crate::case::{Case, InputSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::products::ggml::{FORMAT, FORMATS, Format, bound, format_of, largest};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// The numbers to quantize.
pub const X: InputSpec = InputSpec::new("x", "(.., K), K a multiple of the elements of a block");

/// `QTensor::quantize(x, format)` and back: each element within a step of its block's format.
pub static QUANTIZE: Op = Op {
    name: "quantized.quantize",
    covers: &["QTensor::quantize", "QTensor::dequantize"],
    support: &Support::both("x", &DType::FLOATS),
    inputs: &[X],
    params: &[FORMAT],
    generate: &|draw| numbers(draw, QUANTIZE.support),
    contract: &|case| contract(case, |x, _| Contract::accepts(DType::F32, x)),
    call: &|call| {
        let quantized = QTensor::quantize(call.tensor("x")?, format_of(call.case).dtype)?;
        Ok(vec![quantized.dequantize(call.device)?])
    },
    source: r"
        let dtype = candle_core::quantized::GgmlDType::{{ format }};
        candle_core::quantized::QTensor::quantize(&x, dtype)?.dequantize(&device)?
    ",
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let (x, format) = (inputs.array("x"), format_of(inputs.case));
        let values: Vec<f64> = x.iter().map(|x| x.value).collect();
        let block = |block| vec![bound(format, block); format.block];
        let bounds: Vec<f64> = values.chunks(format.block).flat_map(block).collect();
        let unit = DType::F32.unit_roundoff();
        let mut numbers = values.iter().zip(&bounds).map(|(&value, &error)| Num { error, unit, ..Num::exact(value) });
        vec![x.mapv(|x| numbers.next().unwrap_or(x))]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-core/src/quantized/mod.rs:555-573; llama.cpp ggml-quants.c: the levels and scales of each format",
};

/// Numbers in whole blocks.
pub fn numbers(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let format = draw.choose(FORMATS)?;
    let dtype = draw.dtype(support)?;
    let mut shape = draw.shape(0, 2)?;
    shape.push(draw.between(1, 512 / format.block)? * format.block);
    let x = draw.ordinary_tensor(dtype, &shape)?;
    Ok(Case::default().input("x", x).param("format", format.name))
}

/// The contract of quantizing `x`; `accepts` takes its shape and the format.
pub fn contract(case: &Case, accepts: impl Fn(&[usize], &Format) -> Contract) -> Contract {
    let (Some(x), format) = (case.tensor("x"), format_of(case)) else { return Contract::Rejects(&rule::SHAPES) };
    match x.shape.last() {
        None => Contract::Rejects(&rule::RANK),
        Some(last) if last % format.block != 0 => Contract::Rejects(&rule::SHAPES),
        Some(_) if x.shape.contains(&0) => Contract::Unspecified("empty blocks"),
        Some(_) if !x.floats().iter().all(|x| x.abs() <= largest(format)) => Contract::Unspecified(why::NO_SCALE),
        Some(_) => accepts(&x.shape, format),
    }
}
