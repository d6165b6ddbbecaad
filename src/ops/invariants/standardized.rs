//! Bounds on standardized numbers, which hold whatever the roundings: on each of them, and on the mean square of a group.

use crate::case::Case;
use crate::tensor::{DType, Tensor, index_of};

/// How many roundoffs of the largest number a standard deviation must be, so that the roundings of the numbers do not decide the result.
const RESOLVED: f64 = 4.0;

/// The first element of `output`, the norm of `x`, that is NaN or larger than a standardized number can be, times its weight and with its
/// bias; or the first group whose elements are too large together: standardized numbers have a mean square of 1.
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
    let given = [["alpha", "weight"], ["beta", "bias"]].map(|names| names.iter().find_map(|name| case.tensor(name)));
    // candle broadcasts others to all of `x`.
    if given.iter().flatten().any(|tensor| tensor.shape != [groups.channels()]) {
        return None;
    }
    let (slacks, count) = (slack_of_each(&groups, &values, x.dtype), (values.len() / groups.count()) as f64);
    let [weights, biases] = given.map(|tensor| tensor.map(Tensor::floats));
    let of_channel =
        |list: &Option<Vec<f64>>, place: usize, or: f64| list.as_ref().map_or(or, |list| list[groups.channel(place)]);
    let unit = x.dtype.unit_roundoff();
    let mut squares = vec![0.0; groups.count()];
    for (place, &got) in results.iter().enumerate() {
        let group = groups.of_element(place);
        let Some(slack) = slacks[group] else { continue };
        // A number, if roundings decide.
        let most = if slack.is_finite() { count.sqrt() + slack } else { x.dtype.max() };
        let (weight, bias) = (of_channel(&weights, place, 1.0).abs(), of_channel(&biases, place, 0.0));
        let bound = (weight * most + bias.abs()) * (1.0 + 32.0 * unit) + x.dtype.smallest();
        if got.is_nan() && bound.is_finite() || got.abs() > bound && bound <= x.dtype.max() {
            return Some(format!("element {place}: expected {:?} to {bound:?}, got {got:?}", -bound));
        }
        let away = (got - bias).abs() - 4.0 * unit * (got.abs() + bias.abs()) - x.dtype.smallest();
        squares[group] += if weight == 0.0 { 0.0 } else { (away.max(0.0) / weight).powi(2) };
    }
    let sizes = squares.into_iter().map(|squares: f64| (squares / count).sqrt());
    sizes.zip(slacks).enumerate().find_map(|(group, (size, slack))| {
        let most = 1.0 + slack? + 32.0 * unit;
        (size > most).then(|| format!("group {group}: expected a root mean square of at most {most:?}, got {size:?}"))
    })
}

/// How far beyond what is possible the roundings of the numbers may lead in each group: infinitely if they decide, `None` if the squares
/// overflow.
fn slack_of_each(groups: &Groups, values: &[f64], dtype: DType) -> Vec<Option<f64>> {
    let mut members: Vec<Vec<f64>> = vec![Vec::new(); groups.count()];
    for (place, &value) in values.iter().enumerate() {
        members[groups.of_element(place)].push(value);
    }
    // Half precision is added up in `f32`.
    let accumulator = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let slack = |group: Vec<f64>| {
        let count = group.len() as f64;
        let size = group.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        let overflows = size * size * count > accumulator.max();
        let mean = if groups.is_centered { group.iter().sum::<f64>() / count } else { 0.0 };
        let deviation = (group.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let roundoffs = dtype.unit_roundoff() * size;
        let slack = match () {
            () if deviation < RESOLVED * roundoffs => f64::INFINITY,
            () if deviation > 0.0 => 16.0 * roundoffs / deviation,
            () => 0.0,
        };
        (!overflows).then_some(slack)
    };
    members.into_iter().map(slack).collect()
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

    /// How many weights there are.
    fn channels(&self) -> usize {
        match self.by {
            By::Row => self.shape[self.shape.len() - 1],
            By::ChannelsOf(_) | By::Channel => self.shape[1],
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
