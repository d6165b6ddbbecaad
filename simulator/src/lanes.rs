//! A register: 32 lanes of 64 bits. Each instruction reads as many low bits as its type has.

use crate::float::{self, Format};

/// How many lanes a warp has.
pub const WARP: usize = 32;

/// One register of a warp.
pub type Lanes = [u64; WARP];

/// A type that an instruction reads from, or writes to, a lane.
pub trait Lane: Copy + 'static {
    /// How many bytes it has.
    const BYTES: u8 = size_of::<Self>() as u8;
    /// True if it packs two 16-bit numbers.
    const HALVES: bool = false;
    /// Reads the low bits.
    fn of(bits: u64) -> Self;
    /// The bits to write, zero-extended.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($type:ty as $unsigned:ty),*) => {$(
        impl Lane for $type {
            fn of(bits: u64) -> Self { bits as Self }
            fn bits(self) -> u64 { u64::from(self as $unsigned) }
        }
    )*};
}
integers!(u8 as u8, i8 as u8, u16 as u16, i16 as u16, u32 as u32, i32 as u32, u64 as u64, i64 as u64);

impl Lane for bool {
    fn of(bits: u64) -> Self {
        bits & 1 != 0
    }
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Lane for f32 {
    fn of(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    /// Arithmetic gives the one canonical NaN (PTX ISA 9.7.3, "canonical NaN 0x7fffffff").
    fn bits(self) -> u64 {
        u64::from(if self.is_nan() { 0x7fff_ffff } else { self.to_bits() })
    }
}

impl Lane for f64 {
    fn of(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A half-precision lane as the `f32` of its value; writing rounds to nearest even, NaN to 0x7fff.
macro_rules! halves {
    ($($type:ident is $format:expr, rounded by $nearest:path),*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $type(pub f32);
        impl Lane for $type {
            const BYTES: u8 = 2;
            fn of(bits: u64) -> Self { Self(float::widen(bits as u32 & 0xffff, $format)) }
            fn bits(self) -> u64 { u64::from($nearest(self.0)) }
        }
        impl From<f32> for $type {
            fn from(value: f32) -> Self { Self(value) }
        }
    )*};
}
halves!(F16 is Format::F16, rounded by float::nearest_f16, Bf16 is Format::BF16, rounded by float::nearest_bf16);

/// Two halves in one 32-bit register, the lower first.
#[derive(Debug, Clone, Copy)]
pub struct Two<T>(pub T, pub T);

impl<T: Lane> Lane for Two<T> {
    const BYTES: u8 = 2 * T::BYTES;
    const HALVES: bool = true;
    fn of(bits: u64) -> Self {
        Self(T::of(bits & 0xffff), T::of(bits >> 16 & 0xffff))
    }
    fn bits(self) -> u64 {
        self.0.bits() | self.1.bits() << 16
    }
}

/// Two floats in one 64-bit register, the lower first.
#[derive(Debug, Clone, Copy)]
pub struct Floats(pub f32, pub f32);

impl Lane for Floats {
    fn of(bits: u64) -> Self {
        Self(f32::of(bits), f32::of(bits >> 32))
    }
    fn bits(self) -> u64 {
        self.0.bits() | self.1.bits() << 32
    }
}

/// The lanes of `mask`, lowest first.
pub fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < WARP).then_some(lane)
    })
}

/// The lanes in which a predicate holds.
pub fn mask_of(predicate: &Lanes) -> u32 {
    let mut mask = 0;
    for (lane, bits) in predicate.iter().enumerate() {
        mask |= ((bits & 1) as u32) << lane;
    }
    mask
}
