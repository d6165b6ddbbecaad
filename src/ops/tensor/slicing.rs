//! Ops that take a part of a tensor: `narrow`, `chunk`, `get`, `get_on_dim` and `i`.

use candle_core::{IndexOp, TensorIndexer};
use ndarray::Axis;

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::support::gather_map::{
    COPIES, TOO_LARGE, VIEWS, affordable, contract, drawn, drawn_of, gathered, graded, shape_of, size,
};
use crate::ops::support::ids::{dim, id_rules};
use crate::ops::{Call, Contract, Op, why};

/// `x.narrow(dim, start, len)`: the entries `start..start + len` of a dimension.
pub static NARROW: Op = Op {
    name: "tensor.narrow",
    covers: &["Tensor::narrow"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 1, 4)?;
        let shape = shape_of(&case);
        let dim = draw.between(0, shape.len() - 1)?;
        let start = draw.between(0, shape[dim])?;
        let len = draw.between(0, shape[dim] - start)?;
        Ok(case.param("dim", dim).param("start", start).param("len", len))
    },
    contract: |case| contract(case, narrowed),
    call: |call| {
        let (dim, start, len) = (call.size("dim", 0), call.size("start", 0), call.size("len", 0));
        Ok(vec![call.tensor("x")?.narrow(dim, start, len)?])
    },
    source: "x.narrow({{ dim|default(0) }}, {{ start|default(0) }}, {{ len|default(0) }})?",
    torch: "x.narrow({{ dim|default(0) }}, {{ start|default(0) }}, {{ len|default(0) }})",
    reference: Some(|inputs| {
        gathered(inputs, narrowed, |case, _, index| {
            let mut index = index.to_vec();
            index[size(case, "dim")] += size(case, "start");
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:861-916; torch.narrow",
};

fn narrowed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, start, len) = (size(case, "dim"), size(case, "start"), size(case, "len"));
    let Some(&n) = x.get(dim) else { return Err(Contract::Rejects(why::DIM)) };
    if start.checked_add(len).is_none_or(|end| end > n) {
        return Err(Contract::Rejects(OUTSIDE));
    }
    let mut shape = x.to_vec();
    shape[dim] = len;
    Ok(shape)
}

/// Readers of an empty tensor panic where its view has an offset: `narrow` shows that, and the others need not.
const PART_OF_NOTHING: Contract = Contract::Unspecified("a part of nothing");

const OUTSIDE: &str = "a range outside the dimension";

/// `x.chunk(chunks, dim)`: that many parts, the first ones larger by 1 where the size is no multiple; of a dimension
/// that is shorter, parts of 1.
pub static CHUNK: Op = Op {
    name: "tensor.chunk",
    covers: &["Tensor::chunk"],
    support: VIEWS,
    generate: |draw| {
        let case = drawn_nonempty(draw, 3)?;
        let dim = draw.between(0, shape_of(&case).len() - 1)?;
        Ok(case.param("dim", dim).param("chunks", draw.between(1, 5)?))
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        if x.shape.contains(&0) && size(case, "chunks") > 0 {
            return PART_OF_NOTHING;
        }
        let lengths = match lengths(x.shape[dim], size(case, "chunks")) {
            Ok(lengths) => lengths,
            Err(contract) => return contract,
        };
        if !matches!(affordable(x.dtype, &x.shape), Contract::Accepts { .. }) {
            return TOO_LARGE;
        }
        let part = |length: usize| {
            let mut shape = x.shape.clone();
            shape[dim] = length;
            (x.dtype, shape)
        };
        graded(case, Contract::Accepts { outputs: lengths.into_iter().map(part).collect(), refusal: None })
    },
    call: |call| call.tensor("x")?.chunk(call.size("chunks", 0), call.size("dim", 0)),
    source: "let outputs = x.chunk({{ chunks|default(0) }}, {{ dim|default(0) }})?;",
    torch: r"
        {% set dim, chunks = dim|default(0), chunks|default(0) %}
        {% if chunks > inputs.x.shape[dim]|default(0) %}
        outputs = x.split(1, dim={{ dim }})
        {% else %}
        outputs = x.tensor_split({{ chunks }}, dim={{ dim }})
        {% endif %}
    ",
    reference: Some(|inputs| {
        let (x, dim) = (inputs.array("x"), size(inputs.case, "dim"));
        let mut end = 0;
        let part = |length: usize| {
            end += length;
            x.select(Axis(dim), &(end - length..end).collect::<Vec<_>>())
        };
        lengths(x.shape()[dim], size(inputs.case, "chunks")).unwrap_or_default().into_iter().map(part).collect()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:830-859 (\"the specified number of chunks\", \"may return less\"); torch.chunk: \
              the number of chunks is positive",
};

fn lengths(size: usize, chunks: usize) -> Result<Vec<usize>, Contract> {
    match (size, chunks) {
        (_, 0) => Err(Contract::Rejects("no chunks")),
        (0, _) => Err(Contract::Unspecified("chunks of nothing")),
        (65.., 65..) => Err(Contract::Unspecified("more chunks than are worth counting")),
        _ => {
            let chunks = chunks.min(size);
            Ok((0..chunks).map(|place| size / chunks + usize::from(place < size % chunks)).collect())
        }
    }
}

/// `x.get(index)`, or `x.get_on_dim(dim, index)`: one slice, without its dimension.
pub static GET: Op = Op {
    name: "tensor.get",
    covers: &["Tensor::get", "Tensor::get_on_dim"],
    support: COPIES,
    generate: |draw| {
        let mut shape: Vec<usize> = draw.shape(0, 3)?.into_iter().map(|n| n.max(1)).collect();
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.positive()?);
        let index = draw.between(0, shape[dim] - 1)?;
        let case = drawn_of(draw, &shape)?.param("index", index);
        Ok(if dim == 0 && draw.one_in(2)? { case.param("form", "first") } else { case.param("dim", dim) })
    },
    contract: |case| contract(case, gotten),
    call: |call| {
        let (x, index) = (call.tensor("x")?, call.size("index", 0));
        Ok(vec![if call.case.text("form") == "first" {
            x.get(index)?
        } else {
            x.get_on_dim(call.size("dim", 0), index)?
        }])
    },
    source: r#"
        {% if form == "first" %}
        x.get({{ index|default(0) }})?
        {% else %}
        x.get_on_dim({{ dim|default(0) }}, {{ index|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "first" %}
        x[{{ index|default(0) }}]
        {% else %}
        x.select({{ dim|default(0) }}, {{ index|default(0) }})
        {% endif %}
    "#,
    reference: Some(|inputs| {
        gathered(inputs, gotten, |case, _, index| {
            let mut index = index.to_vec();
            index.insert(dim_of(case), size(case, "index"));
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2230-2265; torch.select",
};

fn dim_of(case: &Case) -> usize {
    if case.text("form") == "first" { 0 } else { size(case, "dim") }
}

fn gotten(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let dim = dim_of(case);
    if x.is_empty() && case.text("form") == "first" {
        return Err(Contract::Unspecified("a slice of a scalar"));
    }
    let Some(&n) = x.get(dim) else { return Err(Contract::Rejects(why::DIM)) };
    if size(case, "index") >= n {
        return Err(Contract::Rejects("index out of range"));
    }
    if x.contains(&0) {
        return Err(PART_OF_NOTHING);
    }
    let mut shape = x.to_vec();
    shape.remove(dim);
    Ok(shape)
}

/// `x.i((index0, index1, ..))`: of each dimension one entry, a range, or the entries that a tensor of ids names.
pub static INDEX: Op = Op {
    name: "tensor.i",
    covers: &["IndexOp", "TensorIndexer"],
    support: COPIES,
    generate: index_case,
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let accepts = contract(case, indexed);
        let kinds = kinds(case);
        let Some(place) = kinds.iter().position(|kind| *kind == "ids") else { return accepts };
        let (Some(ids), Contract::Accepts { .. }) = (case.tensor("ids"), &accepts) else { return accepts };
        let strided = place > 0 || !x.view.is_contiguous();
        id_rules(ids, x.shape[place], accepts).may_refuse(strided, why::CONTIGUOUS)
    },
    call: |call| {
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
        x.i({{ "(" if kind1 else "" }}
        {%- for n in range(4) if params["kind" ~ n] %}
        {%- set kind, a, b = params["kind" ~ n], params["a" ~ n]|default(0), params["b" ~ n]|default(0) %}
        {%- set ranges = {"from": a ~ "..", "to": ".." ~ b, "range": a ~ ".." ~ b, "inclusive": a ~ "..=" ~ b} %}
        {%- set one = {"at": a, "ids": "&ids"} %}
        {{- "" if loop.first else ", " }}{{ one[kind]|default(ranges[kind])|default("..") }}
        {%- endfor %}
        {{- ")" if kind1 else "" }})?
    "#,
    torch: r#"
        {% set kinds = [kind0, kind1, kind2, kind3] %}
        {% if "ids" in kinds and "at" in kinds %}{{ lacks("ids beside a number that leave dimensions where they are") }}{% endif %}
        x[
        {%- for n in range(4) if params["kind" ~ n] %}
        {%- set kind, a, b = params["kind" ~ n], params["a" ~ n]|default(0), params["b" ~ n]|default(0) %}
        {%- set ranges = {"from": a ~ ":", "to": ":" ~ b, "range": a ~ ":" ~ b, "inclusive": a ~ ":" ~ (b + 1)} %}
        {%- set one = {"at": a, "ids": ids("ids")} %}
        {{- "" if loop.first else ", " }}{{ one[kind]|default(ranges[kind])|default(":") }}
        {%- endfor %}]
    "#,
    reference: Some(|inputs| {
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
    promise: "candle-core/src/indexer.rs:7-49 and the examples in its documentation; the largest id of its dtype as for \
              gather",
};

/// What one index takes of its dimension.
enum Pick {
    At(usize),
    Range(usize, usize),
    Ids,
}

fn kinds(case: &Case) -> Vec<&str> {
    ["kind0", "kind1", "kind2", "kind3"]
        .iter()
        .map(|name| case.text(name))
        .take_while(|kind| !kind.is_empty())
        .collect()
}

fn bounds(case: &Case, place: usize) -> (usize, usize) {
    (size(case, &format!("a{place}")), size(case, &format!("b{place}")))
}

/// What the index at this place takes of a dimension of size `n`.
fn pick(case: &Case, place: usize, n: usize) -> Result<Pick, Contract> {
    let (a, b) = bounds(case, place);
    let (start, end) = match *kinds(case).get(place).unwrap_or(&"all") {
        "at" if a < n => return Ok(Pick::At(a)),
        "at" => return Err(Contract::Rejects("index out of range")),
        "ids" => return Ok(Pick::Ids),
        "range" => (a, b),
        "inclusive" => (a, b.saturating_add(1)),
        "from" => (a, n),
        "to" => (0, b),
        _ => (0, n),
    };
    if start > n || end > n {
        return Err(Contract::Rejects(OUTSIDE));
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
        return Err(Contract::Unspecified("no index"));
    }
    if kinds.len() > x.len() {
        return Err(Contract::Rejects("more indices than dimensions"));
    }
    if kinds.iter().filter(|kind| **kind == "ids").count() > 1 {
        return Err(Contract::Unspecified("one tensor of ids for two dimensions"));
    }
    if x.contains(&0) {
        return Err(PART_OF_NOTHING);
    }
    let mut shape = Vec::new();
    for (place, &n) in x.iter().enumerate() {
        match pick(case, place, n)? {
            Pick::At(_) => {}
            Pick::Range(start, end) => shape.push(end - start),
            Pick::Ids => match case.tensor("ids").map(|ids| ids.shape.as_slice()) {
                Some(&[count]) => shape.push(count),
                _ => return Err(Contract::Rejects(why::RANK)),
            },
        }
    }
    if shape.contains(&0) { Err(PART_OF_NOTHING) } else { Ok(shape) }
}

fn indexers(call: &Call) -> candle_core::Result<Vec<TensorIndexer>> {
    let indexer = |(place, kind): (usize, &&str)| {
        let (a, b) = bounds(call.case, place);
        Ok(match *kind {
            "at" => a.into(),
            "ids" => call.tensor("ids")?.into(),
            "range" => (a..b).into(),
            "inclusive" => (a..=b).into(),
            "from" => (a..).into(),
            "to" => (..b).into(),
            _ => (..).into(),
        })
    };
    kinds(call.case).iter().enumerate().map(indexer).collect()
}

fn drawn_nonempty(draw: &mut Draw, high: usize) -> arbitrary::Result<Case> {
    let shape: Vec<usize> = draw.shape(1, high)?.into_iter().map(|n| n.max(1)).collect();
    drawn_of(draw, &shape)
}

fn index_case(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut case = drawn_nonempty(draw, 4)?;
    let shape = shape_of(&case);
    let count = draw.between(1, shape.len())?;
    for (place, &n) in shape.iter().enumerate().take(count) {
        let kind = match draw.between(0, 7)? {
            0 | 1 if n > 0 => "at",
            2 if n > 0 && !kinds(&case).contains(&"ids") => "ids",
            3 => "range",
            4 if n > 0 => "inclusive",
            5 => "from",
            6 => "to",
            _ => "all",
        };
        if kind == "ids" {
            let (id_dtype, count) = (draw.id_dtype()?, draw.positive()?);
            case = case.input("ids", draw.ids(id_dtype, &[count], n)?);
        }
        let a = draw.between(0, n - 1)?;
        let b = draw.between(a, n - 1)? + usize::from(kind != "inclusive");
        case = case.param(&format!("kind{place}"), kind).param(&format!("a{place}"), a).param(&format!("b{place}"), b);
    }
    Ok(case)
}
