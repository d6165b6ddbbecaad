//! Convolutions on device memory, and their gradients: an image and a channel of the output at a time.
//!
//! The real library sums in another order, and some of its algorithms transform the operands first; results agree within rounding.

use crate::objects::libraries::dnn::Activation;
use crate::objects::libraries::dnn::geometry::{Geometry, Stretch, Way};
use crate::objects::libraries::dnn::pointwise;
use crate::objects::libraries::dnn::tensor::{Tensor, either};
use crate::objects::libraries::element::Real;
use simulator::{Device, Fault, jitter};

/// The operands of a convolution. Each of the three may be the result.
#[derive(Debug, Clone)]
pub struct Operands {
    /// The input, or its gradient.
    pub x: Tensor,
    /// The filter, or its gradient.
    pub w: Tensor,
    /// The output, or its gradient.
    pub y: Tensor,
    pub geometry: Geometry,
    pub groups: usize,
}

/// What is added to the output of a convolution, and done with it.
#[derive(Debug, Clone)]
pub struct Epilogue<T> {
    /// A tensor as large as the output, and its factor.
    pub z: Tensor,
    pub factor: T,
    /// A number for each channel.
    pub bias: Tensor,
    pub activation: Activation,
}

/// Sizes that all loops need.
struct Sizes {
    way: Way,
    groups: usize,
    /// Channels of the input and the output, in a group.
    channels: [usize; 2],
    /// Elements of one channel of the input and the output.
    places: [usize; 2],
}

impl Operands {
    fn sizes(&self) -> Sizes {
        let channels = [self.w.dims[1], self.w.dims[0] / self.groups];
        let places = [&self.geometry.input, &self.geometry.output].map(|sizes| sizes.iter().product());
        Sizes { way: self.geometry.way(), groups: self.groups, channels, places }
    }

    /// `y = alpha * (x over w) + beta * y`.
    pub fn forward<T: Real>(&self, device: &mut Device, factors: [T; 2]) -> Result<(), Fault> {
        let sizes = self.sizes();
        let w = Known::read(&self.w, device)?;
        for image in 0..self.x.dims[0] {
            let x = Known::read(&self.x.part(image), device)?;
            let (values, undefined) = sizes.both(&x, &w, Sizes::outputs);
            self.y.part(image).store(device, values, undefined, factors)?;
        }
        Ok(())
    }

    /// `y = activation(alpha * (x over w) + factor * z + bias)`.
    pub fn forward_with<T: Real>(&self, device: &mut Device, alpha: T, also: &Epilogue<T>) -> Result<(), Fault>
    where
        f64: From<T>,
    {
        let sizes = self.sizes();
        let (w, bias) = (Known::read(&self.w, device)?, Known::<T>::read(&also.bias, device)?);
        for image in 0..self.x.dims[0] {
            let x = Known::read(&self.x.part(image), device)?;
            let (mut values, mut undefined) = sizes.both(&x, &w, Sizes::outputs);
            for value in &mut values {
                *value = alpha * *value;
            }
            // As with other factors of zero, the tensor is not read.
            if also.factor != T::default() {
                let z = Known::<T>::read(&also.z.part(image), device)?;
                values.iter_mut().zip(&z.values).for_each(|(value, &z)| *value = *value + also.factor * z);
                undefined = either(undefined, z.undefined);
            }
            let places = sizes.places[1];
            for (channel, values) in values.chunks_exact_mut(places).enumerate() {
                for value in values {
                    *value = *value + bias.values[channel];
                }
            }
            let spread = |flags: &Vec<bool>| flags.iter().flat_map(|&flag| std::iter::repeat_n(flag, places)).collect();
            undefined = either(undefined, bias.undefined.as_ref().map(spread));
            let activated = values.iter().map(|&value| pointwise::activated(also.activation, value.into())).collect();
            self.y.part(image).store(device, activated, undefined, [1.0, 0.0])?;
        }
        Ok(())
    }

    /// The gradient of the input: `x = alpha * (y over w, backwards) + beta * x`.
    pub fn backward_data<T: Real>(&self, device: &mut Device, factors: [T; 2]) -> Result<(), Fault> {
        let sizes = self.sizes();
        let w = Known::read(&self.w, device)?;
        for image in 0..self.x.dims[0] {
            let y = Known::read(&self.y.part(image), device)?;
            let (values, undefined) = sizes.both(&y, &w, Sizes::inputs);
            self.x.part(image).store(device, values, undefined, factors)?;
        }
        Ok(())
    }

    /// The gradient of the filter: `w = alpha * (x times y, of all images) + beta * w`.
    pub fn backward_filter<T: Real>(&self, device: &mut Device, factors: [T; 2]) -> Result<(), Fault> {
        let sizes = self.sizes();
        let (mut sums, mut undefined) = (vec![T::default(); self.w.count()], None);
        let images = self.x.dims[0];
        for turn in 0..images {
            let image = jitter::scheduled(turn, images, 0);
            let x = Known::read(&self.x.part(image), device)?;
            let y = Known::read(&self.y.part(image), device)?;
            let (values, flags) = sizes.both(&x, &y, Sizes::weights);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = *sum + value);
            undefined = either(undefined, flags);
        }
        self.w.store(device, sums, undefined, factors)
    }
}

/// Elements, and which of them were never written.
struct Known<T> {
    values: Vec<T>,
    undefined: Option<Vec<bool>>,
}

impl<T: Real> Known<T> {
    fn read(tensor: &Tensor, device: &mut Device) -> Result<Self, Fault> {
        let undefined = tensor.undefined(device);
        Ok(Self { values: tensor.read(device)?, undefined })
    }

    /// One for each element that was never written, else zero.
    fn mask(&self) -> Option<Vec<T>> {
        let one = |&flag: &bool| if flag { T::ONE } else { T::default() };
        self.undefined.as_ref().map(|flags| flags.iter().map(one).collect())
    }
}

impl Sizes {
    /// The result of a sum of products of both operands, and which of its elements depend on one that was never written: those
    /// for which the same sum, of ones at such elements, is not zero.
    fn both<T: Real>(
        &self,
        a: &Known<T>,
        b: &Known<T>,
        sum: impl Fn(&Self, &[T], &[T]) -> Vec<T>,
    ) -> (Vec<T>, Option<Vec<bool>>) {
        let ones = |known: &Known<T>| vec![T::ONE; known.values.len()];
        let flags = |sums: Vec<T>| sums.iter().map(|&sum| sum != T::default()).collect();
        let of_a = a.mask().map(|mask| flags(sum(self, &mask, &ones(b))));
        let of_b = b.mask().map(|mask| flags(sum(self, &ones(a), &mask)));
        (sum(self, &a.values, &b.values), either(of_a, of_b))
    }

    /// The output. With jitter, terms are added in another order and as several partial sums.
    fn outputs<T: Real>(&self, x: &[T], w: &[T]) -> Vec<T> {
        let Self { way, channels: [inputs, outputs], places: [size, to], .. } = self;
        let mut y = vec![T::default(); self.groups * outputs * to];
        let (parts, mut partial) = (jitter::partial_sums(), vec![T::default(); way.width]);
        for (k, y) in y.chunks_exact_mut(*to).enumerate() {
            let x = &x[k / outputs * inputs * size..];
            let w = &w[k * inputs * way.taps..];
            for (row, y) in way.rows.iter().zip(y.chunks_exact_mut(way.width)) {
                let terms = inputs * row.len();
                for part in 0..parts {
                    partial.fill(T::default());
                    for turn in (part..terms).step_by(parts) {
                        let at = jitter::scheduled(turn, terms, 0);
                        let (c, stretch) = (at / row.len(), row[at % row.len()]);
                        way.add(&mut partial, &x[c * size..], stretch, w[c * way.taps + stretch.tap]);
                    }
                    y.iter_mut().zip(&partial).for_each(|(sum, &partial)| *sum = *sum + partial);
                }
            }
        }
        y
    }

    /// The gradient of the input.
    fn inputs<T: Real>(&self, y: &[T], w: &[T]) -> Vec<T> {
        let Self { way, channels: [inputs, outputs], places: [size, to], .. } = self;
        let mut x = vec![T::default(); self.groups * inputs * size];
        for (at, x) in x.chunks_exact_mut(*size).enumerate() {
            let (group, c) = (at / inputs, at % inputs);
            for turn in 0..*outputs {
                let k = group * outputs + jitter::scheduled(turn, *outputs, 0);
                let w = &w[(k * inputs + c) * way.taps..];
                for (row, y) in way.rows.iter().zip(y[k * to..][..*to].chunks_exact(way.width)) {
                    for &Stretch { tap, input, output, length } in row {
                        let places = x[input..].iter_mut().step_by(way.step);
                        places.zip(&y[output..][..length]).for_each(|(sum, &y)| *sum = *sum + w[tap] * y);
                    }
                }
            }
        }
        x
    }

    /// The gradient of the filter.
    fn weights<T: Real>(&self, x: &[T], y: &[T]) -> Vec<T> {
        let Self { way, channels: [inputs, outputs], places: [size, to], .. } = self;
        let mut w = vec![T::default(); self.groups * outputs * inputs * way.taps];
        for (at, w) in w.chunks_exact_mut(way.taps).enumerate() {
            let (k, c) = (at / inputs, at % inputs);
            let x = &x[(k / outputs * inputs + c) * size..];
            for (row, y) in way.rows.iter().zip(y[k * to..][..*to].chunks_exact(way.width)) {
                for &Stretch { tap, input, output, length } in row {
                    let terms = x[input..].iter().step_by(way.step).zip(&y[output..][..length]);
                    w[tap] = terms.fold(w[tap], |sum, (&x, &y)| sum + x * y);
                }
            }
        }
        w
    }
}

impl Way {
    /// Adds the stretch of a channel of the input, times a factor, to a row of the output.
    fn add<T: Real>(&self, row: &mut [T], x: &[T], stretch: Stretch, factor: T) {
        let sums = row[stretch.output..][..stretch.length].iter_mut();
        let x = &x[stretch.input..];
        // Without steps, compilers vectorize it.
        if self.step == 1 {
            sums.zip(&x[..stretch.length]).for_each(|(sum, &x)| *sum = *sum + factor * x);
        } else {
            sums.zip(x.iter().step_by(self.step)).for_each(|(sum, &x)| *sum = *sum + factor * x);
        }
    }
}
