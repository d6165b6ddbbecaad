//! The elements of matrices and tensors of the libraries, and the numbers in which they compute.

use half::{bf16, f16};
use simulator::jitter;
use std::ops::{Add, Mul};

/// The type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    /// The element type of a `cudaDataType`, if it is supported.
    pub fn of(data_type: u32) -> Option<Self> {
        match data_type {
            0 => Some(Self::F32),
            1 => Some(Self::F64),
            2 => Some(Self::F16),
            14 => Some(Self::Bf16),
            _ => None,
        }
    }

    pub fn size(self) -> u64 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The number types in which a library computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    F16,
    F32,
    F64,
}

/// A number type in which a product is computed.
pub trait Real: Copy + Default + PartialOrd + Add<Output = Self> + Mul<Output = Self> {
    /// One.
    const ONE: Self;
    /// The Gaussian error linear unit, in the approximation by `tanh`.
    fn gelu(self) -> Self;
    /// `self * factor + sum`, rounded once.
    fn fused(self, factor: Self, sum: Self) -> Self;
    /// `self * factor + sum`, cut off as tensor cores do.
    fn cut_off(self, factor: Self, sum: Self) -> Self;
    /// Reads the elements in the bytes and appends them.
    fn read(element: Element, bytes: &[u8], to: &mut Vec<Self>);
    /// Rounds the numbers to elements, as many as the bytes have room for.
    fn write(element: Element, from: &[Self], bytes: &mut [u8]);
}

impl Real for f16 {
    const ONE: Self = Self::ONE;

    fn gelu(self) -> Self {
        Self::from_f64(self.to_f64().gelu())
    }

    fn fused(self, factor: Self, sum: Self) -> Self {
        Self::from_f64(self.to_f64().mul_add(factor.to_f64(), sum.to_f64()))
    }

    fn cut_off(self, factor: Self, sum: Self) -> Self {
        self.fused(factor, sum)
    }

    fn read(element: Element, bytes: &[u8], to: &mut Vec<Self>) {
        let mut wide = Vec::new();
        f32::read(element, bytes, &mut wide);
        to.extend(wide.into_iter().map(Self::from_f32));
    }

    fn write(element: Element, from: &[Self], bytes: &mut [u8]) {
        let wide: Vec<f32> = from.iter().map(|x| x.to_f32()).collect();
        f32::write(element, &wide, bytes);
    }
}

impl Real for f32 {
    const ONE: Self = 1.0;

    fn gelu(self) -> Self {
        f64::from(self).gelu() as Self
    }

    fn fused(self, factor: Self, sum: Self) -> Self {
        self.mul_add(factor, sum)
    }

    fn cut_off(self, factor: Self, sum: Self) -> Self {
        jitter::cut_off(f64::from(self).mul_add(factor.into(), sum.into()))
    }

    fn read(element: Element, bytes: &[u8], to: &mut Vec<Self>) {
        match element {
            Element::F16 => to.extend(bytes.as_chunks().0.iter().map(|&bits| f16::from_le_bytes(bits).to_f32())),
            Element::Bf16 => to.extend(bytes.as_chunks().0.iter().map(|&bits| bf16::from_le_bytes(bits).to_f32())),
            Element::F32 => to.extend(bytes.as_chunks().0.iter().map(|&bits| f32::from_le_bytes(bits))),
            Element::F64 => to.extend(bytes.as_chunks().0.iter().map(|&bits| f64::from_le_bytes(bits) as f32)),
        }
    }

    fn write(element: Element, from: &[Self], bytes: &mut [u8]) {
        match element {
            Element::F16 => store(from, bytes, |x| f16::from_f32(x).to_le_bytes()),
            Element::Bf16 => store(from, bytes, |x| bf16::from_f32(x).to_le_bytes()),
            Element::F32 => store(from, bytes, f32::to_le_bytes),
            Element::F64 => store(from, bytes, |x| f64::from(x).to_le_bytes()),
        }
    }
}

impl Real for f64 {
    const ONE: Self = 1.0;

    fn gelu(self) -> Self {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (0.044_715 * self * self).mul_add(self, self);
        0.5 * self * (1.0 + inner.tanh())
    }

    fn fused(self, factor: Self, sum: Self) -> Self {
        self.mul_add(factor, sum)
    }

    fn cut_off(self, factor: Self, sum: Self) -> Self {
        self.fused(factor, sum)
    }

    fn read(element: Element, bytes: &[u8], to: &mut Vec<Self>) {
        if element == Element::F64 {
            return to.extend(bytes.as_chunks().0.iter().map(|&bits| f64::from_le_bytes(bits)));
        }
        let mut narrow = Vec::new();
        f32::read(element, bytes, &mut narrow);
        to.extend(narrow.into_iter().map(f64::from));
    }

    fn write(element: Element, from: &[Self], bytes: &mut [u8]) {
        match element {
            Element::F16 => store(from, bytes, |x| f16::from_f64(x).to_le_bytes()),
            Element::Bf16 => store(from, bytes, |x| bf16::from_f64(x).to_le_bytes()),
            Element::F32 => store(from, bytes, |x| (x as f32).to_le_bytes()),
            Element::F64 => store(from, bytes, f64::to_le_bytes),
        }
    }
}

fn store<T: Copy, const N: usize>(from: &[T], bytes: &mut [u8], encode: impl Fn(T) -> [u8; N]) {
    for (to, &x) in bytes.as_chunks_mut().0.iter_mut().zip(from) {
        *to = encode(x);
    }
}
