//! `ScatteredKvCache`: a ring of `context` positions for each row of a batch. Rows may pause.

use candle_core::{Result, Tensor as Candle};
use candle_nn::kv_cache::{IndicesAndMask, ScatteredCacheBuilder, ScatteredKvCache};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    ROUNDS, affords, append_all, draw_parts, lengths, of_last_round, part_shape, rounds,
};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// Keys and values `(B, H, S, D)` after each append, with zeros in the slots that the row does not see. `pauses` has
/// one item per append: its `n`-th bit pauses the `n`-th row.
pub static SCATTERED: Op = Op {
    name: "cache.scattered",
    covers: &[
        "ScatteredKvCache",
        "ScatteredCacheBuilder",
        "ScatteredKvCache::append",
        "ScatteredCacheBuilder::new",
        "ScatteredCacheBuilder::make_cache",
        "ScatteredCacheBuilder::indices_and_mask",
    ],
    support: FLOATS,
    inputs: APPENDS,
    params: PARAMS,
    generate: &generate,
    contract: &|case| match checked(case) {
        Err(contract) => contract,
        Ok((dtype, shape)) => {
            let context = case.size("context");
            let outputs = lengths(case, 2).into_iter().flat_map(|length| {
                let kept = if context <= length { length } else { context };
                let shape = vec![shape[0], shape[1], kept, shape[3]];
                [(dtype, shape.clone()), (dtype, shape)]
            });
            let contract = Contract::Accepts { outputs: outputs.collect(), refusal: None };
            contract.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
        }
    },
    call: &|call| {
        let mut visible = all_steps(call.case).into_iter();
        announced(call, |cache, k, v, ids| {
            let (k, v) = cache.append(k, v, ids)?;
            let Some(step) = visible.next().filter(|step| !step.whole) else { return Ok(vec![k, v]) };
            let (rows, _, slots, _) = k.dims4()?;
            let seen: Vec<u8> = step.rows.iter().flatten().map(|slot| u8::from(slot.is_some())).collect();
            let seen = Candle::from_vec(seen, (rows, 1, slots, 1), k.device())?.broadcast_as(k.shape())?;
            [k, v].iter().map(|x| seen.where_cond(x, &x.zeros_like()?)).collect()
        })
    },
    source: r#"
        {% set rows, heads, _, width = inputs.k0.shape %}
        {% include "scattered builder" %}
        let mut cache = builder.make_cache({{ heads }}, {{ width }})?;
        let (mut lengths, mut paused) = ([0; {{ rows }}], [false; {{ rows }}]);
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% set length = inputs["k" ~ n].shape[2] %}
        {% include 'ids of the active' %}
        let (k, v) = cache.append(&k{{ n }}, &v{{ n }}, &ids)?;
        (0..{{ rows }}).filter(|&row| active[row]).for_each(|row| lengths[row] += {{ length }});
        {% if length > 0 %}(0..{{ rows }}).for_each(|row| paused[row] = !active[row]);{% endif %}
        {% if context <= length %}
        outputs.extend([k, v]);
        {% else %}
        // Zeros in the slots that are not written yet, or that were while the row paused.
        let is_next = |row: usize, slot: usize| paused[row] && slot == lengths[row] % {{ context }};
        let is_seen = |row: usize, slot: usize| active[row] && slot < lengths[row] && !is_next(row, slot);
        let seen = |row: usize| (0..{{ context }}).map(move |slot| u8::from(is_seen(row, slot)));
        let seen: Vec<u8> = (0..{{ rows }}).flat_map(seen).collect();
        let seen = Tensor::from_vec(seen, ({{ rows }}, 1, {{ context }}, 1), &device)?.broadcast_as(k.shape())?;
        for x in [k, v] {
            outputs.push(seen.where_cond(&x, &x.zeros_like()?)?);
        }
        {% endif %}
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let mut outputs = Vec::new();
        for (place, step) in steps(inputs.case).into_iter().enumerate() {
            for side in ["k", "v"] {
                let part = |place: usize| inputs.array(&format!("{side}{place}"));
                if step.whole {
                    outputs.push(part(place));
                    continue;
                }
                let parts: Vec<_> = (0..lengths(inputs.case, 2).len()).map(part).collect();
                let first = parts[0].shape().to_vec();
                let shape = [first[0], first[1], inputs.case.size("context"), first[3]];
                outputs.push(ArrayD::from_shape_fn(IxDyn(&shape), |index| match step.rows[index[0]][index[2]] {
                    Some(slot) => parts[slot.part][[index[0], index[1], slot.offset, index[3]]],
                    None => Num::exact(0.0),
                }));
            }
        }
        outputs
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:430-580 (candle alone): the mask shows a row the positions that were appended",
};

/// The mask of each append: 0 for what a query sees, minus infinity for the rest.
pub static SCATTERED_MASK: Op = Op {
    name: "cache.scattered_mask",
    covers: &["ScatteredCacheBuilder", "IndicesAndMask", "IndicesAndMask::mask"],
    support: FLOATS,
    inputs: APPENDS,
    params: PARAMS,
    generate: &generate,
    contract: &|case| match checked(case) {
        // The builder gets lengths, and not the parts.
        Err(Contract::Rejects(_)) => Contract::Unspecified(why::NO_CALL),
        Err(contract) => contract,
        Ok((dtype, shape)) => {
            let context = case.size("context");
            let mask = |length: usize| {
                if context <= length { vec![length, length] } else { vec![shape[0], 1, length, context] }
            };
            let outputs = lengths(case, 2).into_iter().map(|length| (dtype, mask(length)));
            let contract = Contract::Accepts { outputs: outputs.collect(), refusal: None };
            contract.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
        }
    },
    call: &|call| announced(call, |_, _, _, ids| Ok(vec![ids.mask().clone()])),
    source: r#"
        {% set rows, heads, _, width = inputs.k0.shape %}
        {% include "scattered builder" %}
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include 'ids of the active' %}
        outputs.push(ids.mask().clone());
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let (context, lengths) = (inputs.case.size("context"), lengths(inputs.case, 2));
        let shown = |shows: bool| Num::exact(if shows { 0.0 } else { f64::NEG_INFINITY });
        let mask = |(step, length): (Step, usize)| {
            if step.whole {
                return ArrayD::from_shape_fn(IxDyn(&[length, length]), |index| {
                    shown(index[1] <= index[0] && index[0] < index[1] + context)
                });
            }
            ArrayD::from_shape_fn(IxDyn(&[step.rows.len(), 1, length, context]), |index| {
                let query = step.before[index[0]] + index[2];
                let seen = step.rows[index[0]][index[3]].is_some_and(|slot| slot.position <= query);
                shown(step.paused[index[0]] || seen)
            })
        };
        steps(inputs.case).into_iter().zip(lengths).map(mask).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:496-580 and its test (:806-870): a mask of the builder's dtype; a whole context is masked as \
              its positions would be one after the other, each of which sees the `context` that the cache holds. So are the \
              sliding windows of transformers (masking_utils.py, sliding_window_overlay: kv_idx > q_idx - sliding_window)",
};

/// The params of these ops.
const PARAMS: &[ParamSpec] = &[
    ParamSpec::size("context", 0, "The number of slots of each row."),
    ParamSpec::sizes("pauses", "One per append: its n-th bit pauses the n-th row."),
    ROUNDS,
];

/// The dtypes of these ops.
const FLOATS: &Support = &Support { of: "k0", cpu: &DType::FLOATS, cuda: &DType::FLOATS };

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let shape = vec![draw.between(1, 3)?, draw.between(1, 2)?, 1, draw.between(1, 3)?];
    let mut case = draw_parts(draw, FLOATS, shape, 2)?.param("context", draw.between(1, 6)?);
    case.params.remove("reset");
    let mut pauses = Vec::new();
    for _ in 0..4 {
        pauses.push(if draw.one_in(4)? { draw.between(0, 7)? } else { 0 });
    }
    Ok(case.param("pauses", pauses))
}

fn checked(case: &Case) -> std::result::Result<(DType, Vec<usize>), Contract> {
    let context = case.size("context");
    if !affords(case, 2, context) {
        return Err(TOO_LARGE);
    }
    let (dtype, shape) = part_shape(case, 2)?;
    if shape.len() != 4 {
        return Err(Contract::Rejects(&rule::RANK));
    }
    if context == 0 {
        return Err(Contract::Unspecified("a cache of size 0"));
    }
    if !DType::FLOATS.contains(&dtype) {
        return Err(Contract::Unspecified("a dtype without an infinity to mask with"));
    }
    if shape[0] == 0 { Err(Contract::Unspecified("no rows")) } else { Ok((dtype, shape)) }
}

fn paused(case: &Case, place: usize, row: usize) -> bool {
    case.sizes("pauses").get(place).copied().unwrap_or(0) >> row.min(63) & 1 == 1
}

/// The results of `then` for each part of the last round. The builder hears of each part first.
fn announced(
    call: &Call,
    mut then: impl FnMut(&mut ScatteredKvCache, &Candle, &Candle, &IndicesAndMask) -> Result<Vec<Candle>>,
) -> Result<Vec<Candle>> {
    let first = call.tensor("k0")?;
    let (rows, heads, _, width) = first.dims4()?;
    let mut builder = ScatteredCacheBuilder::new(rows, call.size("context"), first.dtype(), first.device())?;
    let mut cache = builder.make_cache(heads, width)?;
    let mut places = (0..lengths(call.case, 2).len()).cycle();
    append_all(
        call,
        &mut cache,
        |_| {},
        |cache, k, v| {
            let place = places.next().unwrap_or(0);
            let active: Vec<bool> = (0..rows).map(|row| !paused(call.case, place, row)).collect();
            let ids = builder.indices_and_mask(k.dim(2)?, &active)?;
            then(cache, k, v, &ids)
        },
    )
}

/// What a slot of the ring holds.
#[derive(Clone, Copy)]
struct Slot {
    position: usize,
    part: usize,
    offset: usize,
}

/// One append.
struct Step {
    /// Whether the part is at least as long as the context. It is returned unchanged then.
    whole: bool,
    /// Which rows pause.
    paused: Vec<bool>,
    /// How many positions each row had before.
    before: Vec<usize>,
    /// The slots that each active row sees afterwards.
    rows: Vec<Vec<Option<Slot>>>,
}

/// The appends of the last round.
fn steps(case: &Case) -> Vec<Step> {
    of_last_round(case, 2, all_steps(case))
}

/// The appends of all rounds.
fn all_steps(case: &Case) -> Vec<Step> {
    let (context, rows) = (case.size("context"), case.tensor("k0").map_or(0, |k| k.shape[0]));
    let mut rings = vec![vec![None; context]; rows];
    let mut counts = vec![0; rows];
    let step = |(part, length): (usize, usize)| {
        let paused: Vec<bool> = (0..rows).map(|row| paused(case, part, row)).collect();
        let before = counts.clone();
        for row in 0..rows {
            // What a row gets while it pauses lies where its next position will (the test, :815 and :835).
            if paused[row] && length > 0 {
                rings[row].get_mut(counts[row] % context.max(1)).map(Option::take);
            }
            for offset in (0..length).filter(|_| !paused[row]) {
                let position = counts[row];
                // A cache without slots is not specified, but is called.
                if let Some(slot) = rings[row].get_mut(position % context.max(1)) {
                    *slot = Some(Slot { position, part, offset });
                }
                counts[row] += 1;
            }
        }
        let seen = |row: usize| if paused[row] { vec![None; context] } else { rings[row].clone() };
        Step { whole: context <= length, rows: (0..rows).map(seen).collect(), paused, before }
    };
    let all = (0..rounds(case)).flat_map(|_| lengths(case, 2).into_iter().enumerate());
    all.map(step).collect()
}
