//! What holds of numbers less their mean, over their standard deviation, whatever the roundings: how large they are.

use crate::case::Case;
use crate::tensor::{DType, Tensor, index_of};

/// How many roundoffs of the largest number a standard deviation must be, so that the roundings of the numbers do not decide the result.
const RESOLVED: f64 = 4.0;

/// The first element of `output`, the norm of `x`, that is NaN or larger than a standardized number can be, times its weight and with its
/// bias.
pub fn outside(case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x").filter(|x| x.shape == output.shape && DType::FLOATS.contains(&x.dtype))?;
    let (values, results) = (x.floats(), output.floats());
    let is_finite = |tensor: &Tensor| tensor.values.listed().iter().all(|value| value.as_f64().is_finite());
    // Without it, a group of equal numbers is 0 over 0.
    let has_eps = case.float("eps") >= f64::from(f32::EPSILON) * f64::from(f32::EPSILON);
    if values.is_empty() || !has_eps || !case.inputs.values().all(is_finite) {
        return None;
    }
    let groups = Groups::of(case, x)?;
    let largest = largest_of_each(&groups, &values, x.dtype);
    (0..values.len()).find_map(|place| {
        let most = largest[groups.of_element(place)]?;
        let weighted = |names: [&str; 2], or: f64| {
            let weight = names.iter().find_map(|name| case.tensor(name)).map(Tensor::floats);
            weight.map_or(or, |weight| weight.get(groups.channel(place)).map_or(f64::INFINITY, |weight| weight.abs()))
        };
        let bound = weighted(["alpha", "weight"], 1.0) * most + weighted(["beta", "bias"], 0.0);
        let bound = bound * (1.0 + 32.0 * x.dtype.unit_roundoff()) + x.dtype.smallest();
        let got = results[place];
        let is_beyond = got.is_nan() && bound.is_finite() || got.abs() > bound && bound <= x.dtype.max();
        is_beyond.then(|| format!("element {place}: expected {:?} to {bound:?}, got {got:?}", -bound))
    })
}

/// How large an element of each group may be: infinite if roundings decide, `None` if the squares overflow.
fn largest_of_each(groups: &Groups, values: &[f64], dtype: DType) -> Vec<Option<f64>> {
    let mut members: Vec<Vec<f64>> = vec![Vec::new(); groups.count()];
    for (place, &value) in values.iter().enumerate() {
        members[groups.of_element(place)].push(value);
    }
    // Half precision is added up in `f32`.
    let accumulator = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let largest = |group: Vec<f64>| {
        let count = group.len() as f64;
        let size = group.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let overflows = size * size * count > accumulator.max();
        let mean = if groups.is_centered { group.iter().sum::<f64>() / count } else { 0.0 };
        let deviation = (group.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let roundoffs = dtype.unit_roundoff() * size;
        let most = if deviation < RESOLVED * roundoffs {
            // Still a number.
            dtype.max()
        } else {
            count.sqrt() + 16.0 * if deviation > 0.0 { roundoffs / deviation } else { 0.0 }
        };
        (!overflows).then_some(most)
    };
    members.into_iter().map(largest).collect()
}

/// Which elements are standardized together.
struct Groups {
    shape: Vec<usize>,
    by: By,
    is_centered: bool,
}

/// What the elements of a group share.
enum By {
    /// All but the last dimension.
    Row,
    /// The element of a batch, and one of so many groups of channels.
    ChannelsOf(usize),
    /// The channel.
    Channel,
}

impl Groups {
    fn of(case: &Case, x: &Tensor) -> Option<Self> {
        let by = match case.op.as_str() {
            "layer.group_norm" => By::ChannelsOf(case.size("groups")),
            "layer.batch_norm_train" => By::Channel,
            _ => By::Row,
        };
        let is_whole = match by {
            By::ChannelsOf(groups) => groups > 0 && x.shape.get(1).is_some_and(|channels| channels % groups == 0),
            By::Channel => x.shape.len() > 1,
            By::Row => !x.shape.is_empty(),
        };
        let is_centered = !case.op.contains("rms_norm") && case.text("form") != "rms_norm";
        is_whole.then(|| Self { shape: x.shape.clone(), by, is_centered })
    }

    fn count(&self) -> usize {
        match self.by {
            By::Row => self.shape[..self.shape.len() - 1].iter().product(),
            By::ChannelsOf(groups) => self.shape[0] * groups,
            By::Channel => self.shape[1],
        }
    }

    /// The group of an element.
    fn of_element(&self, place: usize) -> usize {
        let index = index_of(place, &self.shape);
        match self.by {
            By::Row => place / self.shape[self.shape.len() - 1],
            By::ChannelsOf(groups) => index[0] * groups + index[1] / (self.shape[1] / groups),
            By::Channel => index[1],
        }
    }

    /// The place of an element's weight.
    fn channel(&self, place: usize) -> usize {
        match self.by {
            By::Row => place % self.shape[self.shape.len() - 1],
            By::ChannelsOf(_) | By::Channel => index_of(place, &self.shape)[1],
        }
    }
}
