//! What caches of keys and values share: the appended parts `k0`, `v0`, `k1`, `v1` and so on.

use candle_core::Tensor as Candle;
use ndarray::{ArrayD, Axis};

use crate::case::{Case, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::affordable;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Call, Contract, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// The dtypes of caches that only copy.
pub const CACHE_SUPPORT: &Support = &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// The dimension to append along.
pub const APPEND_DIM: ParamSpec = ParamSpec::size("dim", 0, "The dimension to append along.");
/// The append before which the cache is emptied.
pub const RESET: ParamSpec = ParamSpec::size("reset", 0, "Reset the cache before this append.").optional();
/// The params of a cache of a fixed size.
pub const CACHE_PARAMS: &[ParamSpec] = &[APPEND_DIM, ParamSpec::size("max", 0, "The size of the cache."), RESET];

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
    Ok(if draw.one_in(4)? { case.param("reset", draw.between(1, 3)?) } else { case })
}

/// What `append` returns for each keys and values of the call in turn, with `reset` where the case says so.
pub fn append_all<C>(
    call: &Call,
    cache: &mut C,
    reset: fn(&mut C),
    mut append: impl FnMut(&mut C, &Candle, &Candle) -> Result<Vec<Candle>, candle_core::Error>,
) -> Result<Vec<Candle>, candle_core::Error> {
    let mut outputs = Vec::new();
    for (place, (k, v)) in pairs(call).into_iter().enumerate() {
        if resets_before(call.case, place) {
            reset(cache);
        }
        outputs.extend(append(cache, k, v)?);
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
    let Some(&(keys, values)) = parts.first() else { return Err(Contract::Unspecified(why::NO_CALL)) };
    if dim >= keys.shape.len() {
        return Err(Contract::Unspecified(why::DIM));
    }
    for one in [parts.iter().map(|&(k, _)| k).collect::<Vec<_>>(), parts.iter().map(|&(_, v)| v).collect()] {
        if let Some(rule) = mismatch(&one, dim) {
            // What a cache keeps of the parts before a reset is its own business.
            let reset = case.size("reset") > 0;
            return Err(if reset { Contract::Unspecified(rule) } else { Contract::Rejects(rule) });
        }
    }
    let length = |part: &Tensor| part.shape.get(dim).copied();
    if parts.iter().any(|(k, v)| k.shape.len() != v.shape.len() || length(k) != length(v)) {
        return Err(Contract::Unspecified("keys and values of different lengths"));
    }
    if parts.iter().any(|(k, v)| k.dtype != v.dtype) {
        return Err(Contract::Unspecified(why::MIXED));
    }
    Ok((keys.dtype, [keys.shape.clone(), values.shape.clone()]))
}

/// The rule by which these parts cannot be joined along `dim`, as by `torch.cat`.
fn mismatch(parts: &[&Tensor], dim: usize) -> Option<&'static str> {
    let first = parts[0];
    let joins = |part: &&Tensor| {
        let same = |d: usize| d == dim || part.shape[d] == first.shape[d];
        part.shape.len() == first.shape.len() && (0..first.shape.len()).all(same)
    };
    match parts.iter().all(joins) {
        false => Some("parts of different shapes"),
        true if parts.iter().any(|part| part.dtype != first.dtype) => Some(why::MIXED),
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

/// After each append: the number of positions before it and now.
pub fn spans(case: &Case, dim: usize) -> Vec<(usize, usize)> {
    let mut total = 0;
    let span = |(place, length)| {
        let before = if resets_before(case, place) { 0 } else { total };
        total = before + length;
        (before, total)
    };
    lengths(case, dim).into_iter().enumerate().map(span).collect()
}

/// After each append: all keys and all values since the last reset.
pub fn history(inputs: &ReferenceInputs, dim: usize) -> Vec<(ArrayD<Num>, ArrayD<Num>)> {
    let mut all: Option<(ArrayD<Num>, ArrayD<Num>)> = None;
    let join = |a: &ArrayD<Num>, b: &ArrayD<Num>| {
        ndarray::concatenate(Axis(dim), &[a.view(), b.view()]).expect("parts of one shape")
    };
    let append = |place: usize| {
        let (k, v) = (inputs.array(&format!("k{place}")), inputs.array(&format!("v{place}")));
        let joined = match all.take().filter(|_| !resets_before(inputs.case, place)) {
            Some((keys, values)) => (join(&keys, &k), join(&values, &v)),
            None => (k, v),
        };
        all = Some(joined.clone());
        joined
    };
    (0..lengths(inputs.case, dim).len()).map(append).collect()
}

/// Whether buffers of `max` positions are not too large.
pub fn affords(case: &Case, dim: usize, max: usize) -> bool {
    parts(case).first().is_none_or(|&(k, v)| {
        [k, v].into_iter().all(|part| {
            let mut shape = part.shape.clone();
            shape.get_mut(dim).into_iter().for_each(|n| *n = max);
            matches!(affordable(part.dtype, &shape), Contract::Accepts { .. })
        })
    })
}

/// Accepts with the keys and values after each append, those that the cache holds at the end, and their number of
/// positions.
pub fn whole_contract(case: &Case) -> Contract {
    let dim = case.size("dim");
    let (dtype, shapes) = match part_shapes(case, dim) {
        Ok(known) => known,
        Err(contract) => return contract,
    };
    let mut outputs = Vec::new();
    for (_, length) in spans(case, dim) {
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
    let mut outputs: Vec<_> = history(inputs, dim).into_iter().flat_map(|(k, v)| [k, v]).collect();
    outputs.extend(outputs[outputs.len() - 2..].to_vec());
    let length = spans(inputs.case, dim).last().map_or(0, |&(_, length)| length);
    outputs.extend(scalar(Num::exact(length as f64)));
    outputs
}
