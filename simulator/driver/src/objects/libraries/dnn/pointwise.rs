//! cuDNN's functions of single elements and of windows: activations, softmax and pooling. All but softmax are computed in double precision.

use crate::objects::libraries::dnn::geometry::{Geometry, Stretch, Way};
use crate::objects::libraries::dnn::tensor::Tensor;
use crate::objects::libraries::dnn::{Activation, Pooling};
use crate::objects::libraries::element::Element;
use simulator::{Device, Fault};

/// An activation of a number.
pub fn activated(Activation { mode, propagates_nan, coefficient }: Activation, x: f64) -> f64 {
    // Comparisons with NaN are false, so that these drop it.
    let positive = |x: f64| if x > 0.0 || x.is_nan() && propagates_nan { x } else { 0.0 };
    match mode {
        0 => 1.0 / (1.0 + (-x).exp()),
        1 => positive(x),
        2 => x.tanh(),
        3 => {
            let positive = positive(x);
            if positive > coefficient { coefficient } else { positive }
        }
        4 if x < 0.0 => coefficient * x.exp_m1(),
        6 => x / (1.0 + (-coefficient * x).exp()),
        // The identity, and the exponential linear unit for values from zero on.
        _ => x,
    }
}

/// `y = alpha * activation(x) + beta * y`.
pub fn activate(
    device: &mut Device,
    activation: Activation,
    [x, y]: [&Tensor; 2],
    factors: [f64; 2],
) -> Result<(), Fault> {
    let undefined = x.undefined(device);
    let values = x.read::<f64>(device)?.into_iter().map(|x| activated(activation, x)).collect();
    y.store(device, values, undefined, factors)
}

/// How a softmax is computed, and over what.
#[derive(Debug, Clone, Copy)]
pub struct Softmax {
    /// A `cudnnSoftmaxAlgorithm_t`.
    pub algorithm: u32,
    /// Whether each place has sums of its own, over the channels only.
    pub by_place: bool,
}

/// `y = alpha * softmax(x) + beta * y`. Each step is rounded to floats if the elements are no doubles, and the sum is divided by with
/// its reciprocal: programs compare the result bit by bit.
pub fn softmax(device: &mut Device, how: Softmax, [x, y]: [&Tensor; 2], factors: [f64; 2]) -> Result<(), Fault> {
    let places = if how.by_place { x.dims[2..].iter().product() } else { 1 };
    let each = x.count() / x.dims[0];
    let is_double = x.element == Element::F64;
    let round = |x: f64| if is_double { x } else { f64::from(x as f32) };
    let mut flags = x.undefined(device);
    let mut values = x.read::<f64>(device)?;
    for image in 0..x.dims[0] {
        for place in 0..places {
            let members = || (image * each + place..(image + 1) * each).step_by(places);
            // The fast algorithm does not guard against overflow.
            let greatest = members().map(|at| values[at]).fold(f64::NEG_INFINITY, f64::max);
            let shift = if how.algorithm == 0 { 0.0 } else { greatest };
            let power = |x: f64| round(round(x - shift).exp());
            let sum = members().fold(0.0, |sum, at| round(sum + power(values[at])));
            let (reciprocal, logarithm) = (round(1.0 / sum), round(sum.ln()));
            for at in members() {
                let x = values[at];
                values[at] = if how.algorithm == 2 { round(x - shift) - logarithm } else { power(x) * reciprocal };
            }
            if let Some(flags) = &mut flags {
                let any = members().any(|at| flags[at]);
                members().for_each(|at| flags[at] = any);
            }
        }
    }
    y.store(device, values, flags, factors)
}

/// `y = alpha * pooled(x) + beta * y`.
pub fn pool(device: &mut Device, pooling: &Pooling, [x, y]: [&Tensor; 2], factors: [f64; 2]) -> Result<(), Fault> {
    let (input, output) = (x.dims[2..].to_vec(), y.dims[2..].to_vec());
    let size = input.iter().product();
    let window = pooling.window.clone();
    let way = Geometry { input, window, output, steps: pooling.steps.clone(), flipped: false }.way();
    for image in 0..x.dims[0] {
        let from = x.part(image);
        let flags = from.undefined(device);
        let values = from.read::<f64>(device)?;
        let pooled = values.chunks_exact(size).flat_map(|channel| pooling.over(&way, channel)).collect();
        let met = |channel: &[bool]| way.any(channel);
        let undefined = flags.map(|flags| flags.chunks_exact(size).flat_map(met).collect());
        y.part(image).store(device, pooled, undefined, factors)?;
    }
    Ok(())
}

impl Way {
    /// Calls `f` for each element of a channel of the output and each element of the input in its window.
    fn each(&self, mut f: impl FnMut(usize, usize)) {
        for (row, stretches) in self.rows.iter().enumerate() {
            for &Stretch { input, output, length, .. } in stretches {
                (0..length).for_each(|i| f(row * self.width + output + i, input + i * self.step));
            }
        }
    }

    /// For each element of the output, whether a flag in its window is set.
    fn any(&self, flags: &[bool]) -> Vec<bool> {
        let mut found = vec![false; self.rows.len() * self.width];
        self.each(|to, at| found[to] |= flags[at]);
        found
    }
}

impl Pooling {
    /// Whether the greatest element is wanted, not the average.
    fn is_maximum(&self) -> bool {
        matches!(self.mode, 0 | 3)
    }

    /// Pools a channel.
    fn over(&self, way: &Way, x: &[f64]) -> Vec<f64> {
        let size = way.rows.len() * way.width;
        let start = if self.is_maximum() { f64::NEG_INFINITY } else { 0.0 };
        let (mut pooled, mut counts) = (vec![start; size], vec![0_usize; size]);
        way.each(|to, at| {
            self.add(&mut pooled[to], x[at]);
            counts[to] += 1;
        });
        if !self.is_maximum() {
            let whole = self.window.iter().product();
            let divisor = |count| if self.mode == 1 { whole } else { count } as f64;
            pooled.iter_mut().zip(counts).for_each(|(sum, count)| *sum /= divisor(count));
        }
        pooled
    }

    /// Takes another element of a window.
    fn add(&self, so_far: &mut f64, x: f64) {
        if !self.is_maximum() {
            *so_far += x;
        } else if x > *so_far || x.is_nan() && self.propagates_nan {
            *so_far = x;
        }
    }
}
