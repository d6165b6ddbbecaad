//! Ops that write a tensor into a part of another: `slice_set`, `slice_scatter`, `slice_assign`, and the in-place
//! forms of scatter; and `Tensor::embedding`.

use ndarray::{ArrayD, Dimension};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::gather_map::{COPIES, graded, shape_of, size, sizes, with_sizes};
use crate::ops::tensor::indexing;
use crate::ops::tensor::scatter;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// `x.slice_set(src, dim, start)`: `src` into `x` from `start` on along `dim`, in place.
pub static SLICE_SET: Op = Op {
    name: "tensor.slice_set",
    covers: &["Tensor::slice_set"],
    // Its one kernel copies bytes for the 8-bit float too.
    support: &Support {
        of: "x",
        cpu: &DType::ALL,
        cuda: &[DType::F32, DType::F64, DType::F16, DType::Bf16, DType::F8e4m3, DType::U32, DType::I64, DType::U8],
    },
    generate: |draw| generate(draw, false),
    contract: |case| contract(case, size(case, "dim")).may_refuse(!case.is_contiguous(), why::CONTIGUOUS),
    call: |call| {
        let x = call.tensor("x")?.clone();
        x.slice_set(call.tensor("src")?, call.size("dim", 0), call.size("start", 0))?;
        Ok(vec![x])
    },
    source: r"
        x.slice_set(&src, {{ dim|default(0) }}, {{ start|default(0) }})?;
        x
    ",
    torch: r"
        x.narrow({{ dim|default(0) }}, {{ start|default(0) }}, {{ inputs.src.shape[dim|default(0)] }}).copy_(src)
        x
    ",
    reference: Some(|inputs| embedded(inputs, size(inputs.case, "dim"))),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor_cat.rs:240-300 (its documentation)",
};

/// `x.slice_scatter(src, dim, start)`: the same in a copy.
pub static SLICE_SCATTER: Op = Op {
    name: "tensor.slice_scatter",
    covers: &["Tensor::slice_scatter"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, false),
    contract: |case| contract(case, size(case, "dim")),
    call: |call| {
        let (src, dim) = (call.tensor("src")?, call.size("dim", 0));
        Ok(vec![call.tensor("x")?.slice_scatter(src, dim, call.size("start", 0))?])
    },
    source: "x.slice_scatter(&src, {{ dim|default(0) }}, {{ start|default(0) }})?",
    torch: r"
        {% set dim, start = dim|default(0), start|default(0) %}
        x.slice_scatter(src, {{ dim }}, {{ start }}, {{ start + inputs.src.shape[dim] }})
    ",
    reference: Some(|inputs| embedded(inputs, size(inputs.case, "dim"))),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1749-1817; torch.slice_scatter",
};

/// `x.slice_scatter0(src, start)`: the same along the first dimension.
pub static SLICE_SCATTER0: Op = Op {
    name: "tensor.slice_scatter0",
    covers: &["Tensor::slice_scatter0"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, true),
    contract: |case| contract(case, 0),
    call: |call| Ok(vec![call.tensor("x")?.slice_scatter0(call.tensor("src")?, call.size("start", 0))?]),
    source: "x.slice_scatter0(&src, {{ start|default(0) }})?",
    torch: r"
        {% set start = start|default(0) %}
        x.slice_scatter(src, 0, {{ start }}, {{ start + inputs.src.shape[0] }})
    ",
    reference: Some(|inputs| embedded(inputs, 0)),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1749-1817; torch.slice_scatter",
};

/// The dtypes of these ops.
pub const SLICE_SUPPORT: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

fn generate(draw: &mut Draw, first: bool) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(SLICE_SUPPORT)?;
    let x = draw.shape(1, 4)?;
    let dim = if first { 0 } else { draw.between(0, x.len() - 1)? };
    let mut src = x.clone();
    src[dim] = draw.between(x[dim].min(1), x[dim])?;
    let start = draw.between(0, x[dim] - src[dim])?;
    let case = pair(draw, dtype, &x, &src)?.param("start", start);
    Ok(if first { case } else { case.param("dim", dim) })
}

/// A case of `x` and `src` of these shapes.
fn pair(draw: &mut Draw, dtype: DType, x: &[usize], src: &[usize]) -> arbitrary::Result<Case> {
    let mut case = Case::default().input("x", draw.packed(dtype, x)?).input("src", draw.packed(dtype, src)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// `x` and `src`, if they have one dtype and as many dimensions.
fn operands(case: &Case) -> Result<(&Tensor, &Tensor), Contract> {
    let (Some(x), Some(src)) = (case.tensor("x"), case.tensor("src")) else {
        return Err(Contract::Rejects(why::SHAPES));
    };
    if x.shape.len() != src.shape.len() {
        return Err(Contract::Rejects(why::RANK));
    }
    if x.dtype == src.dtype { Ok((x, src)) } else { Err(Contract::Rejects(why::MIXED)) }
}

fn contract(case: &Case, dim: usize) -> Contract {
    let (x, src) = match operands(case) {
        Ok(operands) => operands,
        Err(contract) => return contract,
    };
    if dim >= x.shape.len() {
        return Contract::Rejects(why::DIM);
    }
    if (0..x.shape.len()).any(|d| d != dim && x.shape[d] != src.shape[d]) {
        return Contract::Rejects(why::SHAPES);
    }
    match size(case, "start").checked_add(src.shape[dim]) {
        Some(end) if end <= x.shape[dim] => graded(case, Contract::accepts(x.dtype, &x.shape)),
        _ => Contract::Rejects("the part ends outside the tensor"),
    }
}

/// `x` with `src` in it from `start` on along `dim`.
fn embedded(inputs: &ReferenceInputs, dim: usize) -> Vec<ArrayD<Num>> {
    let mut starts = vec![0; inputs.array("x").ndim()];
    starts[dim] = size(inputs.case, "start");
    written(inputs, &starts)
}

/// `x` with `src` in it from these positions on.
fn written(inputs: &ReferenceInputs, starts: &[usize]) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    for (index, &value) in inputs.array("src").indexed_iter() {
        let place: Vec<usize> = index.slice().iter().zip(starts).map(|(i, start)| i + start).collect();
        x[place.as_slice()] = value;
    }
    vec![x]
}

/// `x.slice_assign(&[start0..end0, ..], src)`: `src` in a copy of `x`, at a range in each dimension.
pub static SLICE_ASSIGN: Op = Op {
    name: "tensor.slice_assign",
    covers: &["Tensor::slice_assign"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let dtype = draw.dtype(SLICE_SUPPORT)?;
        let x: Vec<usize> = draw.shape(1, 3)?.into_iter().map(|n| n.max(1)).collect();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for &n in &x {
            starts.push(draw.between(0, n - 1)?);
            ends.push(draw.between(starts[starts.len() - 1] + 1, n)?);
        }
        let src: Vec<usize> = starts.iter().zip(&ends).map(|(start, end)| end - start).collect();
        Ok(with_sizes(with_sizes(pair(draw, dtype, &x, &src)?, "start", &starts), "end", &ends))
    },
    contract: |case| {
        let (x, src) = match operands(case) {
            Ok(operands) => operands,
            Err(contract) => return contract,
        };
        let (starts, ends) = (sizes(case, "start"), sizes(case, "end"));
        if starts.len() != x.shape.len() || ends.len() != x.shape.len() {
            return Contract::Rejects(why::RANK);
        }
        if starts.iter().zip(&ends).any(|(start, end)| start >= end) {
            return Contract::Unspecified("an empty range");
        }
        let fits = |d: usize| ends[d] <= x.shape[d] && ends[d] - starts[d] == src.shape[d];
        if !(0..x.shape.len()).all(fits) {
            return Contract::Rejects("the part ends outside the tensor");
        }
        graded(case, Contract::accepts(x.dtype, &x.shape))
    },
    call: |call| {
        let ranges = sizes(call.case, "start").into_iter().zip(sizes(call.case, "end"));
        let ranges: Vec<_> = ranges.map(|(start, end)| start..end).collect();
        Ok(vec![call.tensor("x")?.slice_assign(&ranges, call.tensor("src")?)?])
    },
    source: r#"
        x.slice_assign(&[
        {%- for n in range(6) if params["start" ~ n] is defined and params["end" ~ n] is defined %}
        {{- "" if loop.first else ", " }}{{ params["start" ~ n] }}..{{ params["end" ~ n] }}
        {%- endfor %}], &src)?
    "#,
    torch: r#"
        output = x.clone()
        output[
        {%- for n in range(6) if params["start" ~ n] is defined and params["end" ~ n] is defined %}
        {{- "" if loop.first else ", " }}{{ params["start" ~ n] }}:{{ params["end" ~ n] }}
        {%- endfor %}] = src
    "#,
    reference: Some(|inputs| written(inputs, &sizes(inputs.case, "start"))),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:2860-2914 (its documentation)",
};

/// `x.scatter_set(ids, src, dim)`: `scatter` in place.
pub static SCATTER_SET: Op = Op {
    name: "tensor.scatter_set",
    covers: &["Tensor::scatter_set"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| mostly_packed(draw, &scatter::SCATTER),
    contract: |case| in_place(case, &scatter::SCATTER),
    call: |call| {
        let x = call.tensor("x")?.clone();
        x.scatter_set(call.tensor("ids")?, call.tensor("src")?, call.size("dim", 0))?;
        Ok(vec![x])
    },
    source: r"
        x.scatter_set(&ids, &src, {{ dim|default(0) }})?;
        x
    ",
    torch: r#"x.scatter_({{ dim|default(0) }}, {{ ids("ids") }}, src)"#,
    reference: scatter::SCATTER.reference,
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:1694-1709; as for scatter",
};

/// `x.scatter_add_set(ids, src, dim)`: `scatter_add` in place.
pub static SCATTER_ADD_SET: Op = Op {
    name: "tensor.scatter_add_set",
    covers: &["Tensor::scatter_add_set"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| mostly_packed(draw, &scatter::SCATTER_ADD),
    contract: |case| in_place(case, &scatter::SCATTER_ADD),
    call: |call| {
        let x = call.tensor("x")?.clone();
        x.scatter_add_set(call.tensor("ids")?, call.tensor("src")?, call.size("dim", 0))?;
        Ok(vec![x])
    },
    source: r"
        x.scatter_add_set(&ids, &src, {{ dim|default(0) }})?;
        x
    ",
    torch: r#"x.scatter_add_({{ dim|default(0) }}, {{ ids("ids") }}, src)"#,
    reference: scatter::SCATTER_ADD.reference,
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:1733-1747; as for scatter_add",
};

/// A case of the copying op, mostly contiguous.
fn mostly_packed(draw: &mut Draw, copying: &Op) -> arbitrary::Result<Case> {
    let case = (copying.generate)(draw)?;
    Ok(if draw.one_in(8)? { case } else { case.contiguous() })
}

/// What the copying op promises; what is written in place must be contiguous, and lie in memory once.
fn in_place(case: &Case, copying: &Op) -> Contract {
    let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
    let case = Case { op: copying.name.to_string(), ..case.clone() };
    (copying.contract)(&case).may_refuse(strided, why::CONTIGUOUS)
}

/// `x.embedding(ids)`: the rows of `x (V, H)` that `ids (S)` names.
pub static EMBEDDING: Op = Op {
    name: "tensor.embedding",
    covers: &["Tensor::embedding"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let (dtype, id_dtype) = (draw.dtype(COPIES)?, draw.id_dtype()?);
        let x = [draw.positive()?, draw.size()?];
        let count = draw.size()?;
        let ids = draw.ids(id_dtype, &[count], x[0])?;
        let mut case = Case::default().input("x", draw.packed(dtype, &x)?).input("ids", ids);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| match shape_of(case).len() {
        2 => (indexing::INDEX_SELECT.contract)(case),
        _ => Contract::Rejects(why::RANK),
    },
    call: |call| Ok(vec![call.tensor("x")?.embedding(call.tensor("ids")?)?]),
    source: "x.embedding(&ids)?",
    torch: r#"F.embedding({{ ids("ids") }}, x)"#,
    reference: indexing::INDEX_SELECT.reference,
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1605-1635 (its documentation); as for index_select",
};
