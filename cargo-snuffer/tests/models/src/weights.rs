//! Makes the weights and the inputs of the models: the same numbers for the same name, on every machine.

use std::sync::{Arc, Mutex};

use candle_core::{DType, Device, Result, Shape, Tensor, bail};
use candle_nn::{Init, VarBuilder, var_builder::SimpleBackend};

/// Tokens that a language model knows.
pub const VOCABULARY: usize = 96;

/// `SplitMix64`, begun with the FNV-1a hash of a name. The hashes of the standard library differ between versions.
struct Numbers(u64);

impl Numbers {
    fn of(name: &str) -> Self {
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number within `range` of `centre`.
    fn near(&mut self, centre: f32, range: f32) -> f32 {
        // The upper 24 bits are those that a float holds.
        let part = (self.next() >> 40) as f32 / (1 << 24) as f32;
        centre + range * (2.0 * part - 1.0)
    }
}

/// A weight on the CPU.
pub fn weight(name: &str, shape: impl Into<Shape>) -> Result<Tensor> {
    let shape = shape.into();
    let (centre, range) = match shape.dims() {
        // The variance is one over the inputs of an element of the product, so that the signal does not fade from
        // layer to layer.
        [_, inputs @ ..] if !inputs.is_empty() => (0.0, (3.0 / inputs.iter().product::<usize>() as f32).sqrt()),
        _ if name.contains("bias") || name.ends_with("running_mean") => (0.0, 0.1),
        // A scale or a variance: zero would hide what is multiplied by it.
        _ => (1.0, 0.2),
    };
    let mut numbers = Numbers::of(name);
    let values = (0..shape.elem_count()).map(|_| numbers.near(centre, range)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// Whatever a model asks for.
#[derive(Clone, Default)]
pub struct Weights {
    /// The name and the shape of each tensor that a model asked for.
    pub asked: Arc<Mutex<Vec<(String, Shape)>>>,
}

impl Weights {
    pub fn builder(&self, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), DType::F32, device.clone())
    }
}

impl SimpleBackend for Weights {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        self.asked.lock().expect("no thread panics").push((name.to_owned(), shape.clone()));
        weight(name, shape)?.to_device(device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        bail!("the shape of {name} is not known")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// The weights of a model on `device`.
pub fn weights(device: &Device) -> VarBuilder<'static> {
    Weights::default().builder(device)
}

/// An input of a model: an image, a spectrogram or a sound.
pub fn signal(shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
    let (shape, mut numbers) = (shape.into(), Numbers::of("signal"));
    let values = (0..shape.elem_count()).map(|_| numbers.near(0.0, 1.0)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)?.to_device(device)
}

/// A text of so many tokens.
pub fn tokens(count: usize, device: &Device) -> Result<Tensor> {
    let mut numbers = Numbers::of("tokens");
    let tokens = (0..count).map(|_| (numbers.next() % VOCABULARY as u64) as u32).collect();
    Tensor::from_vec(tokens, (1, count), device)
}
