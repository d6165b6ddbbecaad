//! Ops that reorder elements or dimensions, or copy a view: `permute`, `transpose`, `flip`, `roll`, `contiguous`.

use crate::case::Case;
use crate::ops::support::gather_map::{
    COPIES, VIEWS, contract, drawn, gathered, permutation, shape_of, size, sizes, with_sizes,
};
use crate::ops::{Contract, Op, why};

/// `x.permute([d0, d1, ..])`: dimension `i` of the output is dimension `di` of `x`.
pub static PERMUTE: Op = Op {
    name: "tensor.permute",
    covers: &["Tensor::permute"],
    support: VIEWS,
    generate: |draw| {
        let case = drawn(draw, 1, 4)?;
        let order = permutation(draw, shape_of(&case).len())?;
        Ok(with_sizes(case, "d", &order))
    },
    contract: |case| contract(case, permuted),
    call: |call| Ok(vec![call.tensor("x")?.permute(sizes(call.case, "d"))?]),
    source: "x.permute([{{ list('d') }}])?",
    torch: "x.permute({{ shape('d') }})",
    reference: Some(|inputs| {
        gathered(inputs, permuted, |case, x, index| {
            let mut origin = vec![0; x.len()];
            sizes(case, "d").iter().zip(index).for_each(|(&d, &i)| origin[d] = i);
            Some(origin)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2313-2346; torch.permute",
};

fn permuted(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let order = sizes(case, "d");
    if order.len() != x.len() || (0..x.len()).any(|d| !order.contains(&d)) {
        return Err(Contract::Rejects("no permutation of the dimensions"));
    }
    Ok(order.into_iter().map(|d| x[d]).collect())
}

/// `x.transpose(dim1, dim2)`, or `x.t()`, which swaps the last two.
pub static TRANSPOSE: Op = Op {
    name: "tensor.transpose",
    covers: &["Tensor::transpose", "Tensor::t"],
    support: VIEWS,
    generate: |draw| {
        let case = drawn(draw, 2, 4)?;
        let last = shape_of(&case).len() - 1;
        if draw.one_in(2)? {
            return Ok(case.param("form", "t"));
        }
        let (dim1, dim2) = (draw.between(0, last)?, draw.between(0, last)?);
        Ok(case.param("form", "transpose").param("dim1", dim1).param("dim2", dim2))
    },
    contract: |case| contract(case, transposed),
    call: |call| {
        let x = call.tensor("x")?;
        let (dim1, dim2) = (call.size("dim1", 0), call.size("dim2", 0));
        Ok(vec![if call.case.text("form") == "t" { x.t()? } else { x.transpose(dim1, dim2)? }])
    },
    source: r#"
        {% if form == "t" %}
        x.t()?
        {% else %}
        x.transpose({{ dim1|default(0) }}, {{ dim2|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "t" %}
        x.transpose(-2, -1)
        {% else %}
        x.transpose({{ dim1|default(0) }}, {{ dim2|default(0) }})
        {% endif %}
    "#,
    reference: Some(|inputs| {
        gathered(inputs, transposed, |case, x, index| {
            let (a, b) = swapped(case, x.len());
            let mut index = index.to_vec();
            index.swap(a, b);
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2269-2311; torch.transpose",
};

fn swapped(case: &Case, rank: usize) -> (usize, usize) {
    if case.text("form") == "t" { (rank - 2, rank - 1) } else { (size(case, "dim1"), size(case, "dim2")) }
}

fn transposed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    if case.text("form") == "t" && x.len() < 2 {
        return Err(Contract::Rejects(why::RANK));
    }
    let (a, b) = swapped(case, x.len());
    if a.max(b) >= x.len() {
        return Err(Contract::Rejects(why::DIM));
    }
    let mut shape = x.to_vec();
    shape.swap(a, b);
    Ok(shape)
}

/// `x.flip(&[d0, ..])`: the order of the elements along these dimensions reversed.
pub static FLIP: Op = Op {
    name: "tensor.flip",
    covers: &["Tensor::flip"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 1, 3)?;
        let mut dims = permutation(draw, shape_of(&case).len())?;
        dims.truncate(draw.between(1, 3)?);
        Ok(with_sizes(case, "d", &dims))
    },
    contract: |case| {
        let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
        contract(case, flipped).may_refuse(strided, why::CONTIGUOUS)
    },
    call: |call| Ok(vec![call.tensor("x")?.flip(&sizes(call.case, "d"))?]),
    source: "x.flip(&[{{ list('d') }}])?",
    torch: "x.flip([{{ list('d') }}])",
    reference: Some(|inputs| {
        gathered(inputs, flipped, |case, x, index| {
            let dims = sizes(case, "d");
            let turned = |(d, (&i, &n)): (usize, (&usize, &usize))| if dims.contains(&d) { n - 1 - i } else { i };
            Some(index.iter().zip(x).enumerate().map(turned).collect())
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2943-2963; torch.flip",
};

fn flipped(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let dims = sizes(case, "d");
    if dims.iter().any(|&d| d >= x.len()) {
        return Err(Contract::Rejects(why::DIM));
    }
    if (1..dims.len()).any(|place| dims[..place].contains(&dims[place])) {
        return Err(Contract::Unspecified("a dimension flipped twice"));
    }
    Ok(x.to_vec())
}

/// `x.roll(shift, dim)`: each element `shift` further, those beyond the last position at the first ones.
pub static ROLL: Op = Op {
    name: "tensor.roll",
    covers: &["Tensor::roll"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 1, 4)?;
        let dim = draw.between(0, shape_of(&case).len() - 1)?;
        let shift = draw.between(0, 20)? as i64 - 10;
        Ok(case.param("dim", dim).param("shift", shift))
    },
    contract: |case| contract(case, rolled),
    call: |call| Ok(vec![call.tensor("x")?.roll(shift(call.case), call.size("dim", 0))?]),
    source: "x.roll({{ shift|default(0)|i32 }}, {{ dim|default(0) }})?",
    torch: "x.roll({{ shift|default(0) }}, {{ dim|default(0) }})",
    reference: Some(|inputs| {
        gathered(inputs, rolled, |case, x, index| {
            let dim = size(case, "dim");
            let mut index = index.to_vec();
            let from = index[dim] as i64 - i64::from(shift(case));
            index[dim] = usize::try_from(from.rem_euclid(x[dim] as i64)).ok()?;
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:977-1011; torch.roll",
};

/// What candle takes as `i32`.
fn shift(case: &Case) -> i32 {
    let bound = |bound: i32| i64::from(bound);
    case.int("shift", 0).clamp(bound(i32::MIN), bound(i32::MAX)) as i32
}

fn rolled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    if size(case, "dim") < x.len() { Ok(x.to_vec()) } else { Err(Contract::Rejects(why::DIM)) }
}

/// `x.contiguous()`: the same values in row-major order, in memory of their own where they are not.
pub static CONTIGUOUS: Op = Op {
    name: "tensor.contiguous",
    covers: &["Tensor::contiguous"],
    support: COPIES,
    generate: |draw| drawn(draw, 0, 4),
    contract: |case| contract(case, |_, x| Ok(x.to_vec())),
    call: |call| Ok(vec![call.tensor("x")?.contiguous()?]),
    source: "x.contiguous()?",
    torch: "x.contiguous()",
    reference: Some(|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516",
};

/// `x.force_contiguous()`: the same in memory of their own always.
pub static FORCE_CONTIGUOUS: Op = Op {
    name: "tensor.force_contiguous",
    covers: &["Tensor::force_contiguous"],
    support: COPIES,
    generate: |draw| drawn(draw, 0, 4),
    contract: |case| contract(case, |_, x| Ok(x.to_vec())),
    call: |call| Ok(vec![call.tensor("x")?.force_contiguous()?]),
    source: "x.force_contiguous()?",
    torch: "x.clone(memory_format=torch.contiguous_format)",
    reference: Some(|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516",
};

/// `x.copy()`: the same view of a copy.
pub static COPY: Op = Op {
    name: "tensor.copy",
    covers: &["Tensor::copy"],
    support: VIEWS,
    generate: |draw| drawn(draw, 0, 4),
    contract: |case| contract(case, |_, x| Ok(x.to_vec())),
    call: |call| Ok(vec![call.tensor("x")?.copy()?]),
    source: "x.copy()?",
    torch: "x.clone()",
    reference: Some(|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516",
};
