//! Shared by the key-value caches: the parts `k0`, `v0`, `k1`, `v1` and so on, which are appended once or in many rounds.

use candle_core::Tensor as Candle;
use ndarray::{ArrayD, Axis};

use crate::case::{Case, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::{TOO_LARGE, affordable};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Call, Contract, ReferenceInputs, Rule, rule, why};
use crate::tensor::{DType, Support, Tensor};

/// The dtypes of caches that only copy.
pub const CACHE_SUPPORT: &Support = &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// The dimension to append along.
pub const APPEND_DIM: ParamSpec = ParamSpec::size("dim", 0, "The dimension to append along.");
/// The append before which the cache is emptied.
pub const RESET: ParamSpec = ParamSpec::size("reset", 0, "Reset the cache before this append.").optional();
/// How often all parts are appended. The outputs are those of the last round, when positions have gone around often.
pub const ROUNDS: ParamSpec = ParamSpec::size("rounds", 1, "Append all parts this often.").optional();
/// The params of a cache of a fixed size.
pub const CACHE_PARAMS: &[ParamSpec] =
    &[APPEND_DIM, ParamSpec::size("max", 0, "The size of the cache."), RESET, ROUNDS];

/// The most rounds that a contract judges.
const MOST_ROUNDS: usize = 1000;

/// A case for a cache of any `dim` and a small `max`.
pub fn draw_cache(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut shape = draw.open_shape(0, 3)?;
    let dim = draw.between(0, shape.len())?;
    shape.insert(dim, 1);
    let max = draw.between(1, 6)?;
    Ok(draw_parts(draw, CACHE_SUPPORT, shape, dim)?.param("dim", dim).param("max", max))
}

/// A case that appends 1 to 4 parts of this shape, with other sizes for `dim`.
pub fn draw_parts(draw: &mut Draw, support: &Support, mut shape: Vec<usize>, dim: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut case = Case::default();
    let count = draw.between(1, 4)?;
    for place in 0..count {
        shape[dim] = *draw.choose(&[1, 1, 2, 3, 4, 0])?;
        case = case.input(&format!("k{place}"), draw.packed(dtype, &shape)?);
        case = case.input(&format!("v{place}"), draw.packed(dtype, &shape)?);
    }
    let case = if draw.one_in(4)? { case.param("reset", draw.between(1, 3)?) } else { case };
    Ok(if draw.one_in(8)? { case.param("rounds", *draw.choose(&[8, 30, 100_usize])?) } else { case })
}

/// How often a case appends all its parts.
pub fn rounds(case: &Case) -> usize {
    case.optional_size("rounds").unwrap_or(1)
}

/// The results of `append` for each pair of keys and values of the last round in turn, with `reset` where the case says so.
pub fn append_all<C>(
    call: &Call,
    cache: &mut C,
    reset: fn(&mut C),
    mut append: impl FnMut(&mut C, &Candle, &Candle) -> Result<Vec<Candle>, candle_core::Error>,
) -> Result<Vec<Candle>, candle_core::Error> {
    let mut outputs = Vec::new();
    for _ in 0..rounds(call.case) {
        outputs.clear();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets_before(call.case, place) {
                reset(cache);
            }
            outputs.extend(append(cache, k, v)?);
        }
    }
    Ok(outputs)
}

/// The keys and values of a call in the order in which they are appended.
pub fn pairs<'a>(call: &'a Call) -> Vec<(&'a Candle, &'a Candle)> {
    let pair = |place| Some((call.optional(&format!("k{place}"))?, call.optional(&format!("v{place}"))?));
    (0..4).map_while(pair).collect()
}

/// Whether the cache is emptied before the append at this place.
fn resets_before(case: &Case, place: usize) -> bool {
    place > 0 && case.size("reset") == place
}

/// The dtype and shape of the parts, which differ in `dim` only; an `Err` if a cache of one shape cannot take them.
pub fn part_shape(case: &Case, dim: usize) -> Result<(DType, Vec<usize>), Contract> {
    match part_shapes(case, dim)? {
        (dtype, [keys, values]) if keys == values => Ok((dtype, keys)),
        _ => Err(Contract::Unspecified("keys and values of different shapes")),
    }
}

/// The dtype of the parts, and the shapes of the keys and of the values, of which each differ in `dim` only; an `Err` if a cache cannot
/// take them. Values may have another width than keys, as `torch.nn.functional.scaled_dot_product_attention` takes them.
pub fn part_shapes(case: &Case, dim: usize) -> Result<(DType, [Vec<usize>; 2]), Contract> {
    let parts = parts(case);
    let first = parts.first().filter(|_| rounds(case) > 0);
    let Some(&(keys, values)) = first else { return Err(Contract::Unspecified(why::NO_CALL)) };
    if dim >= keys.shape.len() {
        return Err(Contract::Unspecified(rule::DIM.id));
    }
    for one in [parts.iter().map(|&(k, _)| k).collect::<Vec<_>>(), parts.iter().map(|&(_, v)| v).collect()] {
        if let Some(rule) = mismatch(&one, dim) {
            // What a cache keeps of the parts before a reset is its own business.
            let reset = case.size("reset") > 0;
            return Err(if reset { Contract::Unspecified(rule.id) } else { Contract::Rejects(rule) });
        }
    }
    let length = |part: &Tensor| part.shape.get(dim).copied();
    if parts.iter().any(|(k, v)| k.shape.len() != v.shape.len() || length(k) != length(v)) {
        return Err(Contract::Unspecified("keys and values of different lengths"));
    }
    if parts.iter().any(|(k, v)| k.dtype != v.dtype) {
        return Err(Contract::Unspecified(rule::MIXED.id));
    }
    Ok((keys.dtype, [keys.shape.clone(), values.shape.clone()]))
}

/// The rule by which these parts cannot be joined along `dim`, as by `torch.cat`.
fn mismatch(parts: &[&Tensor], dim: usize) -> Option<&'static Rule> {
    let first = parts[0];
    let joins = |part: &&Tensor| {
        let same = |d: usize| d == dim || part.shape[d] == first.shape[d];
        part.shape.len() == first.shape.len() && (0..first.shape.len()).all(same)
    };
    match parts.iter().all(joins) {
        false => Some(&rule::PARTS),
        true if parts.iter().any(|part| part.dtype != first.dtype) => Some(&rule::MIXED),
        true => None,
    }
}

fn parts(case: &Case) -> Vec<(&Tensor, &Tensor)> {
    let part = |place| Some((case.tensor(&format!("k{place}"))?, case.tensor(&format!("v{place}"))?));
    (0..4).map_while(part).collect()
}

/// How many positions each append adds, in a case that [`part_shape`] accepts.
pub fn lengths(case: &Case, dim: usize) -> Vec<usize> {
    parts(case).into_iter().map(|(k, _)| k.shape.get(dim).copied().unwrap_or(0)).collect()
}

/// One append. Positions count from the last reset.
#[derive(Clone, Copy)]
pub struct Append {
    /// How many positions there were before.
    pub before: usize,
    /// How many positions there are now.
    pub after: usize,
    /// Where position 0 lies in all parts of one round.
    start: usize,
}

/// The appends of all rounds.
pub fn appends(case: &Case, dim: usize) -> Vec<Append> {
    let lengths = lengths(case, dim);
    let (mut total, mut start) = (0, 0);
    let append = |place: usize| {
        if resets_before(case, place) {
            (total, start) = (0, lengths[..place].iter().sum());
        }
        let before = total;
        total += lengths[place];
        Append { before, after: total, start }
    };
    (0..rounds(case)).flat_map(|_| 0..lengths.len()).map(append).collect()
}

/// `all` but what is of earlier rounds: one item for each append.
pub fn of_last_round<T>(case: &Case, dim: usize, mut all: Vec<T>) -> Vec<T> {
    all.split_off(all.len().saturating_sub(lengths(case, dim).len()))
}

/// After each append of the last round: the number of positions.
pub fn totals(case: &Case, dim: usize) -> Vec<usize> {
    of_last_round(case, dim, appends(case, dim)).iter().map(|append| append.after).collect()
}

/// The keys and values that a case appends in one round.
pub struct Parts {
    keys: ArrayD<Num>,
    values: ArrayD<Num>,
    dim: Axis,
}

impl Parts {
    /// The keys and values of a case that [`part_shapes`] accepts.
    pub fn of(inputs: &ReferenceInputs, dim: usize) -> Self {
        let joined = |side: &str| {
            let parts: Vec<_> =
                (0..lengths(inputs.case, dim).len()).map(|place| inputs.array(&format!("{side}{place}"))).collect();
            let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
            ndarray::concatenate(Axis(dim), &views).expect("parts of one shape")
        };
        Self { keys: joined("k"), values: joined("v"), dim: Axis(dim) }
    }

    /// The keys and the values at these positions, as they are after `append`.
    pub fn at(&self, append: Append, positions: impl IntoIterator<Item = usize>) -> [ArrayD<Num>; 2] {
        let length = self.keys.len_of(self.dim).max(1);
        let rows: Vec<usize> = positions.into_iter().map(|position| (append.start + position) % length).collect();
        [&self.keys, &self.values].map(|side| side.select(self.dim, &rows))
    }
}

/// After each append of the last round: all keys and all values since the last reset.
pub fn history(inputs: &ReferenceInputs, dim: usize) -> Vec<[ArrayD<Num>; 2]> {
    let parts = Parts::of(inputs, dim);
    let all = of_last_round(inputs.case, dim, appends(inputs.case, dim)).into_iter();
    all.map(|append| parts.at(append, 0..append.after)).collect()
}

/// True if buffers of `max` positions, and all that is appended, are not too large.
pub fn affords(case: &Case, dim: usize, max: usize) -> bool {
    let appended = lengths(case, dim).iter().sum::<usize>().saturating_mul(rounds(case));
    let max = max.max(appended);
    rounds(case) <= MOST_ROUNDS
        && parts(case).first().is_none_or(|&(k, v)| {
            [k, v].into_iter().all(|part| {
                let mut shape = part.shape.clone();
                shape.get_mut(dim).into_iter().for_each(|n| *n = max);
                matches!(affordable(part.dtype, &shape), Contract::Accepts { .. })
            })
        })
}

/// Accepts with the keys and values after each append of the last round, those that the cache holds at the end, and their number of
/// positions.
pub fn whole_contract(case: &Case) -> Contract {
    let dim = case.size("dim");
    let (dtype, shapes) = match part_shapes(case, dim) {
        Ok(known) => known,
        Err(contract) => return contract,
    };
    if !affords(case, dim, 0) {
        return TOO_LARGE;
    }
    let mut outputs = Vec::new();
    for length in totals(case, dim) {
        outputs.extend(with_length(dtype, &shapes, dim, length));
    }
    outputs.extend(outputs[outputs.len() - 2..].to_vec());
    outputs.push((DType::U32, Vec::new()));
    Contract::Accepts { outputs, refusal: None }
}

/// Keys and values of these shapes, but for this many positions.
pub fn with_length(dtype: DType, shapes: &[Vec<usize>; 2], dim: usize, length: usize) -> [(DType, Vec<usize>); 2] {
    shapes.clone().map(|mut shape| {
        shape[dim] = length;
        (dtype, shape)
    })
}

/// The outputs that [`whole_contract`] lists.
pub fn whole_reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let dim = inputs.case.size("dim");
    let mut outputs: Vec<_> = history(inputs, dim).into_iter().flatten().collect();
    outputs.extend(outputs[outputs.len() - 2..].to_vec());
    let length = totals(inputs.case, dim).pop().unwrap_or(0);
    outputs.extend(scalar(Num::exact(length as f64)));
    outputs
}
