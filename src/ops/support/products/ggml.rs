//! GGML's block formats: what the bytes of a quantized tensor mean, by the format's definition (llama.cpp,
//! `ggml/src/ggml-common.h` and `ggml-quants.c`).

mod bounds;
mod encode;

use std::borrow::Cow;

pub use bounds::{bound, largest};
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Error, Result, Tensor as Candle};
pub use encode::encode;
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::{Num, SINGLE};
use crate::ops::support::reference_inputs::ReferenceInputs;
use crate::ops::{Contract, rule, why};
use crate::tensor::DType::{self, Bf16, F16, F32};
use crate::tensor::{Tensor, Value};

/// A block format.
#[derive(Debug)]
pub struct Format {
    /// Its name in cases, and in the programs of cases.
    pub name: &'static str,
    /// Its name in candle.
    pub dtype: GgmlDType,
    /// The elements of a block.
    pub block: usize,
    /// The bytes of a block.
    pub bytes: usize,
    /// Where a block has floats, and in which dtype: a scale and, in some formats, that of the minimums, or the element itself.
    scales: &'static [(usize, DType)],
    /// What an element of a block is made of.
    parts: fn(&[u8], usize) -> Parts,
}

impl Format {
    /// Whether its elements are plain numbers.
    pub fn is_plain(&self) -> bool {
        self.block == 1
    }

    /// True for the formats that products convert activations to. Models do not use them for weights, and GGML has no GPU product by them.
    pub fn is_of_activations(&self) -> bool {
        matches!(self.dtype, GgmlDType::Q8_1 | GgmlDType::Q8K)
    }
}

/// An element is `scale level - minimum`.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    /// The scale of its group.
    pub scale: f64,
    /// Its own number.
    pub level: f64,
    /// The minimum of its group.
    pub minimum: f64,
    /// How wrong the element may be: 0, unless it was quantized in a way that its format leaves open.
    pub error: f64,
}

impl Parts {
    /// The parts of an element of a given block.
    fn new(scale: f64, level: impl Into<f64>, minimum: f64) -> Self {
        Self { scale, level: level.into(), minimum, error: 0.0 }
    }

    /// The element.
    pub fn value(self) -> f64 {
        self.scale * self.level - self.minimum
    }

    /// The magnitude of what is added up for it.
    pub fn magnitude(self) -> f64 {
        (self.scale * self.level).abs() + self.minimum.abs()
    }
}

/// The formats of candle. In the first three an element is a number, and neither a block nor quantized. Those of activations, `Q8_1` and
/// `Q8K`, also keep sums of their levels, which no element depends on.
pub const FORMATS: &[Format] = &[
    Format { name: "F32", dtype: GgmlDType::F32, block: 1, bytes: 4, scales: &[(0, F32)], parts: single },
    Format { name: "F16", dtype: GgmlDType::F16, block: 1, bytes: 2, scales: &[(0, F16)], parts: number },
    Format { name: "BF16", dtype: GgmlDType::BF16, block: 1, bytes: 2, scales: &[(0, Bf16)], parts: brain },
    Format { name: "Q4_0", dtype: GgmlDType::Q4_0, block: 32, bytes: 18, scales: &[(0, F16)], parts: q4_0 },
    Format { name: "Q4_1", dtype: GgmlDType::Q4_1, block: 32, bytes: 20, scales: &[(0, F16), (2, F16)], parts: q4_1 },
    Format { name: "Q5_0", dtype: GgmlDType::Q5_0, block: 32, bytes: 22, scales: &[(0, F16)], parts: q5_0 },
    Format { name: "Q5_1", dtype: GgmlDType::Q5_1, block: 32, bytes: 24, scales: &[(0, F16), (2, F16)], parts: q5_1 },
    Format { name: "Q8_1", dtype: GgmlDType::Q8_1, block: 32, bytes: 36, scales: &[(0, F16), (2, F16)], parts: q8_1 },
    Format { name: "Q8K", dtype: GgmlDType::Q8K, block: 256, bytes: 292, scales: &[(0, F32)], parts: q8k },
    Format { name: "Q8_0", dtype: GgmlDType::Q8_0, block: 32, bytes: 34, scales: &[(0, F16)], parts: q8_0 },
    Format { name: "Q2K", dtype: GgmlDType::Q2K, block: 256, bytes: 84, scales: &[(80, F16), (82, F16)], parts: q2k },
    Format { name: "Q3K", dtype: GgmlDType::Q3K, block: 256, bytes: 110, scales: &[(108, F16)], parts: q3k },
    Format { name: "Q4K", dtype: GgmlDType::Q4K, block: 256, bytes: 144, scales: &[(0, F16), (2, F16)], parts: q4k },
    Format { name: "Q5K", dtype: GgmlDType::Q5K, block: 256, bytes: 176, scales: &[(0, F16), (2, F16)], parts: q5k },
    Format { name: "Q6K", dtype: GgmlDType::Q6K, block: 256, bytes: 210, scales: &[(208, F16)], parts: q6k },
];

/// The blocks of a quantized matrix, as bytes or by value.
pub const BLOCKS: InputSpec =
    InputSpec::new("blocks", "(N, bytes), u8: the blocks of each row of a matrix; or (N, K), floats to quantize")
        .discrete();

/// The format of the blocks.
pub const FORMAT: ParamSpec = ParamSpec::word("format", NAMES, "The format of the blocks.");

/// The first is the default.
const NAMES: &[&str] =
    &["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2K", "Q3K", "Q4K", "Q5K", "Q6K", "Q8K", "F32", "F16", "BF16"];

/// How many formats are plain numbers.
const PLAIN: usize = 3;

/// The format of a case.
pub fn format_of(case: &Case) -> &'static Format {
    FORMATS.iter().find(|format| format.name == case.text("format")).unwrap_or(&FORMATS[PLAIN])
}

/// The formats that products of experts have kernels for.
pub const EXPERTS: &[Format] = FORMATS.split_at(PLAIN + 6).1;

/// A format for experts, mostly one with a kernel.
pub fn draw_format(draw: &mut Draw) -> arbitrary::Result<&'static Format> {
    let formats = if draw.one_in(8)? { FORMATS } else { EXPERTS };
    draw.choose(formats)
}

/// The blocks of a matrix of `rows` rows: numbers to quantize, or ordinary scales and any bytes else.
pub fn draw_blocks(draw: &mut Draw, format: &Format, rows: usize, blocks: usize) -> arbitrary::Result<Tensor> {
    // Where the format leaves the blocks open, `quantized.quantize` says more. It also draws views.
    if format.block <= ONE_SCALE && draw.one_in(3)? {
        return Ok(draw.ordinary_tensor(F32, &[rows, blocks * format.block])?.contiguous());
    }
    let mut state = draw.between(0, u32::MAX as usize)? as u32;
    let mut bytes: Vec<u8> = Vec::with_capacity(rows * blocks * format.bytes);
    for _ in 0..rows * blocks {
        let start = bytes.len();
        for _ in 0..format.bytes {
            // The constants of a linear congruential generator (Numerical Recipes); its high bits are good.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((state >> 24) as u8);
        }
        for &(place, dtype) in format.scales {
            let number = (1.0 + f64::from(bytes[start + place] % 32)) / 512.0;
            // Scales are positive.
            let number = if format.is_plain() && bytes[start + place] > 127 { -number } else { number };
            match dtype {
                F16 => bytes[start + place..][..2].copy_from_slice(&f16::from_f64(number).to_le_bytes()),
                Bf16 => bytes[start + place..][..2].copy_from_slice(&bf16::from_f64(number).to_le_bytes()),
                _ => bytes[start + place..][..4].copy_from_slice(&(number as f32).to_le_bytes()),
            }
        }
    }
    let values = bytes.into_iter().map(|byte| Value::Int(byte.into())).collect();
    Ok(Tensor::new(DType::U8, vec![rows, blocks * format.bytes], values))
}

/// True if the blocks of a case are numbers that candle quantizes.
pub fn by_value(case: &Case) -> bool {
    case.tensor("blocks").is_some_and(is_by_value)
}

/// True for numbers that candle quantizes, false for bytes.
fn is_by_value(blocks: &Tensor) -> bool {
    DType::FLOATS.contains(&blocks.dtype)
}

/// True if a tensor may be the blocks of a matrix: a row of bytes or of numbers for each of its rows.
fn is_matrix(blocks: &Tensor) -> bool {
    blocks.shape.len() == 2 && (blocks.dtype == DType::U8 || is_by_value(blocks))
}

/// The shape of the matrix in the blocks; `None` if a row is not made of blocks.
pub fn matrix_shape(case: &Case) -> Option<[usize; 2]> {
    let (format, blocks) = (format_of(case), case.tensor("blocks").filter(|blocks| is_matrix(blocks))?);
    let (rows, width) = (blocks.shape[0], blocks.shape[1]);
    let of_a_block = if is_by_value(blocks) { format.block } else { format.bytes };
    let is_whole = width > 0 && rows > 0 && width % of_a_block == 0;
    is_whole.then(|| [rows, width / of_a_block * format.block])
}

/// The shape that the call gives experts: as many matrices of equally many rows, even if rows are left over; one matrix if there are none.
pub fn shape_of_experts(case: &Case) -> Vec<usize> {
    let ([rows, columns], experts) = (matrix_shape(case).unwrap_or_default(), case.size("experts"));
    rows.checked_div(experts).map_or_else(|| vec![rows, columns], |rows| vec![experts, rows, columns])
}

/// The contract of a case whose blocks make no matrix. Bytes that are not whole blocks must be refused: `QStorage::from_data` and
/// `QTensor::new` return a `Result`, and so does the sibling `Tensor::from_slice`, which compares the number of elements with the shape. So
/// must numbers that do not fill their blocks.
pub fn without_matrix(case: &Case) -> Contract {
    if partial_shape(case).is_some() {
        return Contract::Rejects(&rule::BLOCKS);
    }
    match case.tensor("blocks").filter(|blocks| is_matrix(blocks)) {
        None => Contract::Unspecified(why::NO_CALL),
        Some(blocks) if blocks.shape.contains(&0) => Contract::Unspecified("empty blocks"),
        Some(_) => Contract::Rejects(&rule::SHAPES),
    }
}

/// The shape of the matrix in the whole blocks of each row, if its last block is incomplete.
fn partial_shape(case: &Case) -> Option<[usize; 2]> {
    let (format, blocks) = (format_of(case), case.tensor("blocks")?);
    let &[rows, bytes] = blocks.shape.as_slice() else { return None };
    let partial = blocks.dtype == DType::U8 && rows > 0 && bytes % format.bytes > 0;
    partial.then(|| [rows, bytes / format.bytes * format.block])
}

/// The elements of the matrix in the blocks, row by row.
pub fn elements(inputs: &ReferenceInputs) -> Vec<Parts> {
    let format = format_of(inputs.case);
    let Some(blocks) = inputs.case.tensor("blocks") else { return Vec::new() };
    if is_by_value(blocks) {
        let numbers: Vec<Num> = inputs.array("blocks").iter().copied().collect();
        return numbers.chunks(format.block).flat_map(|block| quantized_parts(format, block)).collect();
    }
    let bytes: Vec<u8> = blocks.ints().into_iter().map(|byte| byte as u8).collect();
    bytes.chunks_exact(format.bytes).flat_map(|block| parts_of(format, block)).collect()
}

/// The elements of a block.
fn parts_of(format: &Format, block: &[u8]) -> Vec<Parts> {
    (0..format.block).map(|place| (format.parts)(block, place)).collect()
}

/// The elements of the block that quantizing makes of these numbers. Where its format leaves the block open, the numbers are within a bound.
fn quantized_parts(format: &Format, numbers: &[Num]) -> Vec<Parts> {
    let is_certain = numbers.iter().all(|number| number.error == 0.0 && !number.indeterminate);
    let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    let is_in_range = values.iter().all(|value| value.abs() <= largest(format));
    if let Some(bytes) = if is_certain && is_in_range { encode(format, &values) } else { None } {
        return parts_of(format, &bytes);
    }
    let bound = if is_in_range { bound(format, &values) } else { f64::INFINITY };
    let part = |number: &Num| {
        let own = if number.indeterminate { f64::INFINITY } else { number.error };
        // A wrong number may be the largest of its block.
        Parts { error: 2.0 * own + bound, ..plain(number.value) }
    };
    numbers.iter().map(part).collect()
}

/// The most elements of a block that has one scale, so that its numbers give its bytes.
const ONE_SCALE: usize = 32;

/// The largest scale: a number in half precision.
pub const LARGEST_SCALE: f64 = 65_504.0;

/// The largest activation: products quantize activations to levels up to 127.
const LARGEST_ACTIVATION: f64 = 127.0 * LARGEST_SCALE;

/// Why no value is specified: a block has no scale, or a block of values of `x` has none. What is made of them may be larger.
pub fn without_scale(case: &Case) -> Option<&'static str> {
    let x = case.tensor("x").map(Tensor::floats).unwrap_or_default();
    let has_scale = |parts: &Parts| parts.magnitude().is_finite() && parts.error.is_finite();
    if elements(&ReferenceInputs::new(case)).iter().all(has_scale) {
        return (!x.iter().all(|x| x.abs() <= LARGEST_ACTIVATION)).then_some(why::BEYOND_SCALES);
    }
    // Plain numbers have no scale that could be infinite.
    Some(if format_of(case).is_plain() { why::BEYOND_SCALES } else { why::NO_SCALE })
}

/// The product of a row of activations and a row of weights. Activations are quantized too, to 8 bits with a scale for each 32
/// (`Q8_0`, `Q8_1`) or 256 of them (`Q8K`): each is wrong by half a step, and its scale by a roundoff of half precision. Plain numbers are
/// multiplied as they are.
pub fn product(format: &Format, x: &[Num], weights: &[Parts]) -> Num {
    const HALF: f64 = 1.0 / 2048.0;
    let (mut value, mut error) = (0.0, 0.0);
    let group = if format.is_plain() { x.len().max(1) } else { format.block };
    for (x, weights) in x.chunks(group).zip(weights.chunks(group)) {
        let largest = x.iter().fold(0.0_f64, |largest, x| largest.max(x.value.abs()));
        // The smallest scales are subnormal numbers of half precision.
        let step =
            if format.is_plain() { 0.0 } else { largest * (1.0 / 254.0 + 2.0 * HALF) + 127.0 / f64::from(1 << 25) };
        for (x, weight) in x.iter().zip(weights) {
            value += x.value * weight.value();
            error += step * (weight.magnitude() + weight.error) + x.value.abs() * weight.error;
            error += x.value.abs() * weight.magnitude() * SINGLE * weights.len() as f64;
        }
    }
    let unit = x.first().map_or(0.0, |x| x.unit);
    // 0 times an unbounded error is not a number.
    let indeterminate = !error.is_finite();
    Num { error: error + value.abs() * unit, peak: value.abs(), unit, indeterminate, ..Num::exact(value) }
}

/// The matrix in the blocks, in this dtype.
pub fn dequantized(inputs: &ReferenceInputs, dtype: DType) -> ArrayD<Num> {
    let case = inputs.case;
    let unit = dtype.unit_roundoff();
    // A plain number fits `f32`.
    let is_exact = format_of(case).is_plain() && dtype == F32;
    let number = |parts: Parts| {
        let rounding = if is_exact { 0.0 } else { 2.0 * unit * parts.magnitude() + dtype.smallest() };
        Num {
            error: rounding + parts.error,
            unit,
            indeterminate: parts.error.is_infinite(),
            ..Num::exact(parts.value())
        }
    };
    let shape = matrix_shape(case).unwrap_or_default();
    let numbers = elements(inputs).into_iter().map(number).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), numbers).expect("whole blocks")
}

/// The blocks as a quantized tensor of this shape on the device of `blocks`, made of bytes or of numbers.
pub fn quantized(case: &Case, blocks: &Candle, shape: &[usize]) -> Result<QTensor> {
    let partial = partial_shape(case);
    if matrix_shape(case).is_none() && partial.is_none() {
        return Err(Error::Msg("the case has no blocks".to_string()));
    }
    if by_value(case) {
        let blocks = if blocks.dims() == shape { blocks.clone() } else { blocks.reshape(shape)? };
        return QTensor::quantize(&blocks, format_of(case).dtype);
    }
    let shape = partial.as_ref().map_or(shape, |shape| &shape[..]);
    let bytes = blocks.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u8>()?;
    QTensor::new(QStorage::from_data(Cow::Owned(bytes), blocks.device(), format_of(case).dtype)?, shape)
}

/// An element that is a number.
fn plain(value: f64) -> Parts {
    Parts::new(value, 1.0, 0.0)
}

fn single(block: &[u8], _: usize) -> Parts {
    plain(full(block))
}

/// The number in single precision at the start.
fn full(block: &[u8]) -> f64 {
    f32::from_le_bytes([block[0], block[1], block[2], block[3]]).into()
}

fn number(block: &[u8], _: usize) -> Parts {
    plain(half(block, 0))
}

fn brain(block: &[u8], _: usize) -> Parts {
    plain(bf16::from_le_bytes([block[0], block[1]]).to_f64())
}

fn half(block: &[u8], place: usize) -> f64 {
    f16::from_le_bytes([block[place], block[place + 1]]).to_f64()
}

/// The low or the high four bits of the bytes from `start` on, which hold 32 numbers.
fn nibble(block: &[u8], start: usize, place: usize) -> u8 {
    block[start + place % 16] >> (4 * (place / 16)) & 15
}

/// The fifth bit of a number of four bits.
fn fifth(block: &[u8], start: usize, place: usize) -> u8 {
    (block[start + place / 8] >> (place % 8) & 1) << 4
}

/// A level around `centre`, whose product kernels subtract apart from the others.
fn centred(scale: f64, level: u8, centre: f64) -> Parts {
    Parts::new(scale, level, scale * centre)
}

fn q4_0(block: &[u8], place: usize) -> Parts {
    centred(half(block, 0), nibble(block, 2, place), 8.0)
}

fn q4_1(block: &[u8], place: usize) -> Parts {
    Parts::new(half(block, 0), nibble(block, 4, place), -half(block, 2))
}

fn q5_0(block: &[u8], place: usize) -> Parts {
    centred(half(block, 0), nibble(block, 6, place) | fifth(block, 2, place), 16.0)
}

fn q5_1(block: &[u8], place: usize) -> Parts {
    let level = nibble(block, 8, place) | fifth(block, 4, place);
    Parts::new(half(block, 0), level, -half(block, 2))
}

fn q8_0(block: &[u8], place: usize) -> Parts {
    Parts::new(half(block, 0), block[2 + place] as i8, 0.0)
}

fn q8_1(block: &[u8], place: usize) -> Parts {
    Parts::new(half(block, 0), block[4 + place] as i8, 0.0)
}

fn q8k(block: &[u8], place: usize) -> Parts {
    Parts::new(full(block), block[4 + place] as i8, 0.0)
}

/// Two bits of each of 256 numbers: 128 numbers share 32 bytes.
fn two_bits(block: &[u8], start: usize, place: usize) -> u8 {
    let (part, place) = (place / 128, place % 128);
    block[start + 32 * part + place % 32] >> (2 * (place / 32)) & 3
}

fn q2k(block: &[u8], place: usize) -> Parts {
    let group = block[place / 16];
    Parts::new(
        half(block, 80) * f64::from(group & 15),
        two_bits(block, 16, place),
        half(block, 82) * f64::from(group >> 4),
    )
}

fn q3k(block: &[u8], place: usize) -> Parts {
    let (group, scales) = (place / 16, &block[96..108]);
    let low = scales[group % 8] >> (4 * (group / 8)) & 15;
    let scale = low | (scales[8 + group % 4] >> (2 * (group / 4)) & 3) << 4;
    let third = block[place % 32] >> (place / 32) & 1;
    let level = f64::from(two_bits(block, 32, place)) - if third == 0 { 4.0 } else { 0.0 };
    Parts::new(half(block, 108) * (f64::from(scale) - 32.0), level, 0.0)
}

/// The scale and the minimum of a group of 32 numbers, six bits each, from twelve bytes.
fn six_bits(scales: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (scales[group] & 63, scales[group + 4] & 63);
    }
    let high = |byte: u8| byte >> 6 << 4;
    (scales[group + 4] & 15 | high(scales[group - 4]), scales[group + 4] >> 4 | high(scales[group]))
}

/// A number of `level` in a group of 32 with a scale and a minimum.
fn in_group(block: &[u8], place: usize, level: u8) -> Parts {
    let (scale, minimum) = six_bits(&block[4..16], place / 32);
    Parts::new(half(block, 0) * f64::from(scale), level, half(block, 2) * f64::from(minimum))
}

/// Four bits of each of 256 numbers: 64 numbers share 32 bytes.
fn four_bits(block: &[u8], start: usize, place: usize) -> u8 {
    block[start + place / 64 * 32 + place % 32] >> (4 * (place % 64 / 32)) & 15
}

fn q4k(block: &[u8], place: usize) -> Parts {
    in_group(block, place, four_bits(block, 16, place))
}

fn q5k(block: &[u8], place: usize) -> Parts {
    let fifth = block[16 + place % 32] >> (place / 32) & 1;
    in_group(block, place, four_bits(block, 48, place) | fifth << 4)
}

fn q6k(block: &[u8], place: usize) -> Parts {
    let (part, within) = (place / 128, place % 128);
    let (column, group) = (within % 32, within / 32);
    let low = block[64 * part + column + 32 * (group % 2)] >> (4 * (group / 2)) & 15;
    let high = block[128 + 32 * part + column] >> (2 * group) & 3;
    let scale = f64::from(block[192 + place / 16] as i8);
    Parts::new(half(block, 208) * scale, f64::from(low | high << 4) - 32.0, 0.0)
}
