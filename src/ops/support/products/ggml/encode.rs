//! The blocks that GGML makes of numbers (llama.cpp, `ggml/src/ggml-quants.c`, `quantize_row_…_ref`).

use candle_core::quantized::GgmlDType;
use half::{bf16, f16};

use super::Format;

/// How far a level must be from where it rounds to its neighbour: more than the roundoff of `f32` can make of the largest.
const MARGIN: f64 = 1e-4;

/// The levels of a format that has one scale for each block: `scale (level - zero) + minimum`.
struct Levels {
    scale: f64,
    minimum: f64,
    /// The level of the number 0, without a minimum.
    zero: f64,
    largest: f64,
}

/// The block of these numbers, which `f32` rounds first, as many as `format` has in a block. `None` where a rounding in `f32` decides a
/// bit, and for formats whose quantizer searches for the best scale, which GGML does not specify.
pub fn encode(format: &Format, numbers: &[f64]) -> Option<Vec<u8>> {
    let numbers = &numbers.iter().map(|&number| f64::from(number as f32)).collect::<Vec<_>>();
    let first_largest = |largest: f64, &x: &f64| if x.abs() > largest.abs() { x } else { largest };
    let largest = numbers.iter().fold(0.0, first_largest);
    let lowest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let around = |zero: f64| Levels { scale: largest / -zero, minimum: 0.0, zero, largest: 2.0 * zero - 1.0 };
    let from_lowest =
        |levels: f64| Levels { scale: (highest - lowest) / levels, minimum: lowest, zero: 0.0, largest: levels };
    match format.dtype {
        GgmlDType::F32 => Some((numbers[0] as f32).to_le_bytes().to_vec()),
        GgmlDType::F16 => Some(f16::from_f32(numbers[0] as f32).to_le_bytes().to_vec()),
        GgmlDType::BF16 => Some(bf16::from_f32(numbers[0] as f32).to_le_bytes().to_vec()),
        GgmlDType::Q4_0 => around(8.0).block(format, numbers),
        GgmlDType::Q5_0 => around(16.0).block(format, numbers),
        GgmlDType::Q4_1 => from_lowest(15.0).block(format, numbers),
        GgmlDType::Q5_1 => from_lowest(31.0).block(format, numbers),
        GgmlDType::Q8_0 => {
            let levels = Levels { scale: largest.abs() / 127.0, minimum: 0.0, zero: 0.0, largest: 127.0 };
            levels.block(format, numbers)
        }
        _ => None,
    }
}

impl Levels {
    /// The scales, then the fifth bits, if there are any, then the levels.
    fn block(&self, format: &Format, numbers: &[f64]) -> Option<Vec<u8>> {
        let levels: Vec<i8> = numbers.iter().map(|&number| self.level(number)).collect::<Option<_>>()?;
        let mut block = vec![0; format.bytes];
        for (&(place, _), number) in format.scales.iter().zip([self.scale, self.minimum]) {
            block[place..][..2].copy_from_slice(&certain_half(number)?);
        }
        if format.dtype == GgmlDType::Q8_0 {
            block[2..].copy_from_slice(&levels.iter().map(|&level| level as u8).collect::<Vec<_>>());
            return Some(block);
        }
        let fifths = 2 * format.scales.len();
        let fours = format.bytes - numbers.len() / 2;
        for (place, level) in levels.into_iter().map(|level| level as u8).enumerate() {
            block[fours + place % 16] |= (level & 15) << (4 * (place / 16));
            if fours > fifths {
                block[fifths + place / 8] |= (level >> 4) << (place % 8);
            }
        }
        Some(block)
    }

    /// The level nearest to `number`, if it is certain.
    fn level(&self, number: f64) -> Option<i8> {
        // The reciprocal of a smaller scale may overflow.
        if self.scale != 0.0 && self.scale.abs() < 1e-30 {
            return None;
        }
        let level = if self.scale == 0.0 { 0.0 } else { (number - self.minimum) / self.scale };
        let is_tie = ((level - level.floor()) - 0.5).abs() < MARGIN;
        (!is_tie).then(|| (level.round() + self.zero).min(self.largest) as i8)
    }
}

/// The bytes of `number` in half precision, if they are the same for its neighbours in `f32`.
fn certain_half(number: f64) -> Option<[u8; 2]> {
    let [low, high] = [-1.0, 1.0].map(|sign| number * (1.0 + sign * 2.0 * f64::from(f32::EPSILON)));
    let half = |number| f16::from_f64(number).to_le_bytes();
    (half(low) == half(high)).then(|| half(number))
}
