//! `IndexOp::i`: a tensor indexed by numbers, ranges and ids.

use candle_core::{IndexOp, TensorIndexer};

use crate::case::{Case, InputSpec, Kind, ParamSpec};
use crate::generate::Draw;
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, contract, gathered, shape_of};
use crate::ops::support::moving::ids::id_rules;
use crate::ops::support::moving::slicing::{EMPTY_SLICE, draw_nonempty};
use crate::ops::{Call, Contract, Op, rule, why};

/// `x.i((index0, index1, ..))`: one entry, a range, or the entries in a tensor of ids, of each
/// dimension. `kinds` has one word per index, `starts` and `ends` their numbers.
pub static I: Op = Op {
    name: "tensor.i",
    covers: &["IndexOp", "TensorIndexer"],
    support: COPIES,
    inputs: &[ANY, InputSpec::new("ids", "(S), integers that index a dimension").discrete().when("kinds", "ids")],
    params: &[
        ParamSpec::sizes("ends", "The end of each index."),
        ParamSpec::list("kinds", &Kind::Word(&INDEX_KINDS), "The index of each dimension."),
        ParamSpec::sizes("starts", "The number or start of each index."),
    ],
    generate: &index_case,
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let accepts = contract(case, indexed);
        let kinds = kinds(case);
        let Some(place) = kinds.iter().position(|kind| *kind == "ids") else { return accepts };
        let (Some(ids), Contract::Accepts { .. }) = (case.tensor("ids"), &accepts) else { return accepts };
        let strided = place > 0 || !x.view.is_contiguous();
        id_rules(ids, x.shape[place], accepts).may_refuse(strided, why::CONTIGUOUS)
    },
    call: &|call| {
        let x = call.tensor("x")?;
        let mut indexers = indexers(call)?.into_iter();
        let mut next = || indexers.next().ok_or_else(|| candle_core::Error::Msg("too few indices".into()));
        Ok(vec![match kinds(call.case).len() {
            1 => x.i(next()?)?,
            2 => x.i((next()?, next()?))?,
            3 => x.i((next()?, next()?, next()?))?,
            _ => x.i((next()?, next()?, next()?, next()?))?,
        }])
    },
    source: r#"
        x.i({{ "(" if kinds|length > 1 else "" }}
        {%- for kind in kinds[:4] %}
        {%- set start, end = starts[loop.index0]|default(0), ends[loop.index0]|default(0) %}
        {%- set ranges = {"range": start ~ ".." ~ end, "inclusive": start ~ "..=" ~ end} %}
        {%- set others = {"at": start, "ids": "&ids", "from": start ~ "..", "to": ".." ~ end, "through": "..=" ~ end} %}
        {{- "" if loop.first else ", " }}{{ others[kind]|default(ranges[kind])|default("..") }}
        {%- endfor %}
        {{- ")" if kinds|length > 1 else "" }})?
    "#,
    torch: r#"
        {% if "ids" in kinds and "at" in kinds %}
        {{ lacks("ids beside a number that leave dimensions where they are") }}
        {% endif %}
        x[
        {%- for kind in kinds[:4] %}
        {%- set start, end = starts[loop.index0]|default(0), ends[loop.index0]|default(0) %}
        {%- set ranges = {"range": start ~ ":" ~ end, "inclusive": start ~ ":" ~ (end + 1)} %}
        {%- set others = {"at": start, "ids": ids("ids"), "from": start ~ ":", "to": ":" ~ end, "through": ":" ~ (end + 1)} %}
        {{- "" if loop.first else ", " }}{{ others[kind]|default(ranges[kind])|default(":") }}
        {%- endfor %}]
    "#,
    reference: Some(&|inputs| {
        gathered(inputs, indexed, |case, x, index| {
            let ids = case.tensor("ids").map(crate::tensor::Tensor::ints).unwrap_or_default();
            let mut rest = index.iter().copied();
            let mut origin = Vec::new();
            for (place, &n) in x.iter().enumerate() {
                origin.push(match pick(case, place, n).ok()? {
                    Pick::At(entry) => entry,
                    Pick::Range(start, _) => start + rest.next()?,
                    Pick::Ids => usize::try_from(*ids.get(rest.next()?)?).ok()?,
                });
            }
            Some(origin)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/indexer.rs:7-49 and the examples in its documentation; the indices of torch.Tensor: numbers, \
              slices, and a tensor of ids; the largest id of its dtype as for gather",
};

fn index_case(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut case = draw_nonempty(draw, 4)?;
    let shape = shape_of(&case);
    let count = draw.between(1, shape.len().min(4))?;
    let (mut kinds, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for &n in &shape[..count] {
        let kind = match draw.between(0, 8)? {
            0 | 1 if n > 0 => "at",
            2 if n > 0 && !kinds.contains(&"ids") => "ids",
            3 => "range",
            4 if n > 0 => "inclusive",
            5 => "from",
            6 => "to",
            7 => "through",
            _ => "all",
        };
        if kind == "ids" {
            let (id_dtype, count) = (draw.id_dtype()?, draw.positive()?);
            case = case.input("ids", draw.ids(id_dtype, &[count], n)?);
        }
        let start = draw.between(0, n - 1)?;
        let end = draw.between(start, n - 1)? + usize::from(!["inclusive", "through"].contains(&kind));
        kinds.push(kind);
        starts.push(start);
        ends.push(end);
    }
    Ok(case.param("kinds", kinds).param("starts", starts).param("ends", ends))
}

/// What an index may be.
const INDEX_KINDS: [&str; 8] = ["all", "at", "ids", "range", "inclusive", "from", "to", "through"];

/// The entries of a dimension that one index takes.
enum Pick {
    At(usize),
    Range(usize, usize),
    Ids,
}

/// The kinds of the indices, in order. The call takes four at most.
fn kinds(case: &Case) -> Vec<&str> {
    case.texts("kinds").into_iter().take(4).take_while(|kind| !kind.is_empty()).collect()
}

/// The numbers of the index at this place; 0 for one that the case leaves out.
fn bounds(case: &Case, place: usize) -> (usize, usize) {
    let number = |name| case.sizes(name).get(place).copied().unwrap_or(0);
    (number("starts"), number("ends"))
}

/// The entries that the index at this place takes of a dimension of size `n`.
fn pick(case: &Case, place: usize, n: usize) -> Result<Pick, Contract> {
    let (start, end) = bounds(case, place);
    let (start, end) = match *kinds(case).get(place).unwrap_or(&"all") {
        "at" if start < n => return Ok(Pick::At(start)),
        "at" => return Err(Contract::Rejects(&rule::INDEX)),
        "ids" => return Ok(Pick::Ids),
        "range" => (start, end),
        "inclusive" => (start, end.saturating_add(1)),
        "from" => (start, n),
        "to" => (0, end),
        "through" => (0, end.saturating_add(1)),
        _ => (0, n),
    };
    if start > n || end > n {
        return Err(Contract::Rejects(&rule::RANGE));
    }
    if start > end {
        Err(Contract::Unspecified("a range that ends before it starts"))
    } else {
        Ok(Pick::Range(start, end))
    }
}

fn indexed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let kinds = kinds(case);
    if kinds.is_empty() {
        return Err(Contract::Unspecified(why::NO_CALL));
    }
    if kinds.len() > x.len() {
        return Err(Contract::Rejects(&rule::INDICES));
    }
    if kinds.iter().filter(|kind| **kind == "ids").count() > 1 {
        return Err(Contract::Unspecified("two tensors of ids"));
    }
    if x.contains(&0) {
        return Err(EMPTY_SLICE);
    }
    let mut shape = Vec::new();
    for (place, &n) in x.iter().enumerate() {
        match pick(case, place, n)? {
            Pick::At(_) => {}
            Pick::Range(start, end) => shape.push(end - start),
            Pick::Ids => match case.tensor("ids").map(|ids| ids.shape.as_slice()) {
                Some(&[count]) => shape.push(count),
                _ => return Err(Contract::Rejects(&rule::RANK)),
            },
        }
    }
    if shape.contains(&0) { Err(EMPTY_SLICE) } else { Ok(shape) }
}

fn indexers(call: &Call) -> candle_core::Result<Vec<TensorIndexer>> {
    let indexer = |(place, kind): (usize, &&str)| {
        let (start, end) = bounds(call.case, place);
        Ok(match *kind {
            "at" => start.into(),
            "ids" => call.tensor("ids")?.into(),
            "range" => (start..end).into(),
            "inclusive" => (start..=end).into(),
            "from" => (start..).into(),
            "to" => (..end).into(),
            "through" => (..=end).into(),
            _ => (..).into(),
        })
    };
    kinds(call.case).iter().enumerate().map(indexer).collect()
}
