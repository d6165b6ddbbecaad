//! Relations between calls: what an op returns for a changed input must follow from what it returns for the original one.
//!
//! Each entry calls the op on the changed input and changes the output back; the reference is the op's own.

use candle_core::{Result, Tensor as Candle};
use candle_nn::{loss, ops};
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::layer::linear;
use crate::ops::loss::labels;
use crate::ops::op::norm;
use crate::ops::op::softmax;
use crate::ops::support::gather_map::shape_of;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::tensor::conv;
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `softmax(x + c)` is `softmax(x)`.
pub static SOFTMAX_SHIFTED: Op = Op {
    name: "relation.softmax_shifted",
    covers: &["ops::softmax_last_dim", "ops::softmax"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| shifted(draw, &softmax::SOFTMAX_LAST_DIM),
    contract: |case| if ordinary(case, "x") { plain(case, &softmax::SOFTMAX_LAST_DIM) } else { NO_SHIFT },
    call: |call| {
        let call = promised(call, &(SOFTMAX_SHIFTED.contract)(call.case))?;
        let x = (call.tensor("x")? + shift(call.case))?;
        let last = x.rank().saturating_sub(1);
        Ok(vec![if call.case.text("form") == "fused" { ops::softmax_last_dim(&x)? } else { ops::softmax(&x, last)? }])
    },
    source: r#"
        let x = (&x + {{ shift|default("0.0") }})?;
        {% if form == "fused" %}
        candle_nn::ops::softmax_last_dim(&x)?
        {% else %}
        candle_nn::ops::softmax(&x, {{ inputs.x.shape|length - 1 }})?
        {% endif %}
    "#,
    torch: "",
    reference: Some(|inputs| of_shifted(inputs, &softmax::SOFTMAX_LAST_DIM)),
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "softmax is invariant under a shift; candle-nn/src/ops.rs:7-30 subtracts the maximum for that",
};

/// `cross_entropy(inp + c, target)` is `cross_entropy(inp, target)`.
pub static CROSS_ENTROPY_SHIFTED: Op = Op {
    name: "relation.cross_entropy_shifted",
    covers: &["loss::cross_entropy"],
    support: labels::CROSS_ENTROPY.support,
    generate: |draw| shifted(draw, &labels::CROSS_ENTROPY),
    contract: |case| if ordinary(case, "inp") { plain(case, &labels::CROSS_ENTROPY) } else { NO_SHIFT },
    call: |call| {
        let call = promised(call, &(CROSS_ENTROPY_SHIFTED.contract)(call.case))?;
        Ok(vec![loss::cross_entropy(&(call.tensor("inp")? + shift(call.case))?, call.tensor("target")?)?])
    },
    source: "candle_nn::loss::cross_entropy(&(&inp + {{ shift|default('0.0') }})?, &target)?",
    torch: "",
    reference: Some(|inputs| of_shifted(inputs, &labels::CROSS_ENTROPY)),
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "log_softmax is invariant under a shift",
};

const NO_SHIFT: Contract = Contract::Unspecified("no ordinary shift");

/// The shift, or 0 for what is no ordinary one.
fn shift(case: &Case) -> f64 {
    let shift = case.float("shift", 0.0);
    if shift.abs() <= 1024.0 { shift } else { 0.0 }
}

/// Whether there is a shift, and no finite value of the input `name` overflows under it.
fn ordinary(case: &Case, name: &str) -> bool {
    let shift = shift(case);
    let Some(tensor) = case.tensor(name) else { return shift != 0.0 };
    let stays = |value: f64| !value.is_finite() || tensor.dtype.round(value + shift).is_finite();
    shift != 0.0 && tensor.values.listed().iter().all(|value| stays(value.as_f64()))
}

fn shifted(draw: &mut Draw, op: &Op) -> arbitrary::Result<Case> {
    let case = drawn(draw, op, |_| true)?;
    let form = *draw.choose(&["fused", "composed"])?;
    Ok(case.param("shift", *draw.choose(&[1.0, -8.0, 64.0, 0.5])?).param("form", form))
}

/// The reference of `op` for its main input, with the rounding of the shift there and back.
fn of_shifted(inputs: &ReferenceInputs, op: &Op) -> Vec<ArrayD<Num>> {
    let shift = Num::exact(shift(inputs.case));
    let x = inputs.array(op.support.of).mapv(|x| (x + shift) - shift);
    let flowing = Some((op.support.of, x));
    op.reference.map_or_else(Vec::new, |of| {
        of(&ReferenceInputs { case: inputs.case, direction: inputs.direction, shift: inputs.shift, flowing })
    })
}

/// `softmax` of the rows in reverse order, turned back.
pub static SOFTMAX_FLIPPED: Op = Op {
    name: "relation.softmax_flipped",
    covers: &["ops::softmax_last_dim", "Tensor::flip"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| drawn(draw, &softmax::SOFTMAX_LAST_DIM, |_| true),
    contract: |case| plain(case, &softmax::SOFTMAX_LAST_DIM),
    call: |call| Ok(vec![flip(&ops::softmax_last_dim(&flip(call.tensor("x")?)?)?)?]),
    source: "candle_nn::ops::softmax_last_dim(&x.contiguous()?.flip(&[0])?)?.flip(&[0])?",
    torch: "",
    reference: softmax::SOFTMAX_LAST_DIM.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "the rows of a softmax do not know of each other",
};

/// `nll` of the rows in reverse order: a mean has no order.
pub static NLL_FLIPPED: Op = Op {
    name: "relation.nll_flipped",
    covers: &["loss::nll", "Tensor::flip"],
    support: LABELS_FLIPPED_SUPPORT,
    generate: |draw| drawn(draw, &labels::NLL, |_| true),
    contract: |case| plain(case, &labels::NLL),
    call: |call| {
        let call = promised(call, &plain(call.case, &labels::NLL))?;
        Ok(vec![loss::nll(&flip(call.tensor("inp")?)?, &flip(call.tensor("target")?)?)?])
    },
    source: "candle_nn::loss::nll(&inp.contiguous()?.flip(&[0])?, &target.contiguous()?.flip(&[0])?)?",
    torch: "",
    reference: labels::NLL.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "candle-nn/src/loss.rs:5-46: the mean over the batch",
};

/// `cross_entropy` of the rows in reverse order.
pub static CROSS_ENTROPY_FLIPPED: Op = Op {
    name: "relation.cross_entropy_flipped",
    covers: &["loss::cross_entropy", "Tensor::flip"],
    support: LABELS_FLIPPED_SUPPORT,
    generate: |draw| drawn(draw, &labels::NLL, |_| true),
    contract: |case| plain(case, &labels::CROSS_ENTROPY),
    call: |call| {
        let call = promised(call, &plain(call.case, &labels::CROSS_ENTROPY))?;
        Ok(vec![loss::cross_entropy(&flip(call.tensor("inp")?)?, &flip(call.tensor("target")?)?)?])
    },
    source: "candle_nn::loss::cross_entropy(&inp.contiguous()?.flip(&[0])?, &target.contiguous()?.flip(&[0])?)?",
    torch: "",
    reference: labels::CROSS_ENTROPY.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "candle-nn/src/loss.rs:5-46: the mean over the batch",
};

/// The dtypes of these ops.
pub const LABELS_FLIPPED_SUPPORT: &Support = &Support { of: "inp", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

fn flip(x: &Candle) -> Result<Candle> {
    x.contiguous()?.flip(&[0])
}

/// What `op` promises for a case of which it takes everything; of others, its own entry judges.
pub(super) fn plain(case: &Case, op: &Op) -> Contract {
    let empty = case.inputs.values().any(|tensor| tensor.shape.contains(&0));
    match (op.contract)(case) {
        _ if empty || !case.is_contiguous() => Contract::Unspecified("views, or rows of nothing"),
        Contract::Rejects(rule) => Contract::Unspecified(rule),
        contract => contract,
    }
}

/// A case of `op` that is contiguous and not empty, if one comes soon.
pub(super) fn drawn(draw: &mut Draw, op: &Op, fits: fn(&Case) -> bool) -> arbitrary::Result<Case> {
    let mut case = (op.generate)(draw)?.contiguous();
    for _ in 0..8 {
        if fits(&case) && matches!(plain(&case, op), Contract::Accepts { .. }) {
            break;
        }
        case = (op.generate)(draw)?.contiguous();
    }
    Ok(case)
}

/// An `Err` instead of a call of which `contract` promises nothing: a relation is between calls that succeed.
pub(super) fn promised<'a, 'b>(call: &'a Call<'b>, contract: &Contract) -> Result<&'a Call<'b>> {
    match contract {
        Contract::Accepts { .. } => Ok(call),
        _ => candle_core::bail!("nothing is promised"),
    }
}

/// `conv1d` of each half of the batch.
pub static CONV1D_SPLIT: Op = Op {
    name: "relation.conv1d_split",
    covers: &["Tensor::conv1d"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| drawn(draw, &conv::CONV1D, |case| shape_of(case).len() > 1),
    contract: |case| of_halves(case, &conv::CONV1D),
    call: |call| halves(call, &conv::CONV1D),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "tensor.conv1d" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    torch: "",
    reference: conv::CONV1D.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "the entries of a batch do not know of each other",
};

/// `conv2d` of each half of the batch.
pub static CONV2D_SPLIT: Op = Op {
    name: "relation.conv2d_split",
    covers: &["Tensor::conv2d"],
    support: conv::CONV2D.support,
    generate: |draw| drawn(draw, &conv::CONV2D, |case| shape_of(case).len() > 1),
    contract: |case| of_halves(case, &conv::CONV2D),
    call: |call| halves(call, &conv::CONV2D),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "tensor.conv2d" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    torch: "",
    reference: conv::CONV2D.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "the entries of a batch do not know of each other",
};

/// `Linear` of each half of the batch.
pub static LINEAR_SPLIT: Op = Op {
    name: "relation.linear_split",
    covers: &["Linear"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| drawn(draw, &linear::LINEAR, |case| shape_of(case).len() > 1),
    contract: |case| of_halves(case, &linear::LINEAR),
    call: |call| halves(call, &linear::LINEAR),
    source: r#"
        {% filter replace("layer.forward(&x)?", "") %}{% include "layer.linear" %}{% endfilter %}
        let halves = x.chunk(2, 0)?.iter().map(|half| layer.forward(half)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&halves, 0)?
    "#,
    torch: "",
    reference: linear::LINEAR.reference,
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "the entries of a batch do not know of each other",
};

/// `layer_norm` of each half of the rows.
pub static LAYER_NORM_SPLIT: Op = Op {
    name: "relation.layer_norm_split",
    covers: &["ops::layer_norm"],
    support: norm::LAYER_NORM.support,
    generate: |draw| drawn(draw, &norm::LAYER_NORM, |case| shape_of(case).len() > 1),
    contract: |case| of_halves(case, &norm::LAYER_NORM),
    call: |call| halves(call, &norm::LAYER_NORM),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "op.layer_norm" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    torch: "",
    reference: norm::LAYER_NORM.reference,
    ulps: 8.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "the entries of a batch do not know of each other",
};

pub(super) fn of_halves(case: &Case, op: &Op) -> Contract {
    match shape_of(case).as_slice() {
        [] | [_] => Contract::Unspecified("no batch"),
        [0, ..] => Contract::Unspecified("halves of nothing"),
        _ => plain(case, op),
    }
}

fn halves(call: &Call, op: &Op) -> Result<Vec<Candle>> {
    let call = promised(call, &of_halves(call.case, op))?;
    let mut outputs = Vec::new();
    for half in call.tensor("x")?.chunk(2, 0)? {
        let mut tensors = call.tensors.clone();
        tensors.insert("x", half);
        outputs.extend((op.call)(&Call { case: call.case, tensors, device: call.device })?);
    }
    Ok(vec![Candle::cat(&outputs, 0)?])
}

/// `(a + b) @ c` is `a @ c + b @ c`.
pub static MATMUL_LINEAR: Op = Op {
    name: "relation.matmul_linear",
    covers: &["Tensor::matmul"],
    support: &Support::both("a", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(MATMUL_LINEAR.support)?;
        let (rows, inner, columns) = (draw.positive()?, draw.reduced()?, draw.positive()?);
        let case = Case::default().input("a", draw.tensor(dtype, &[rows, inner])?);
        let case = case.input("b", draw.tensor(dtype, &[rows, inner])?);
        Ok(case.input("c", draw.packed(dtype, &[inner, columns])?))
    },
    contract: |case| {
        let (Some(a), Some(b), Some(c)) = (case.tensor("a"), case.tensor("b"), case.tensor("c")) else {
            return Contract::Rejects(why::SHAPES);
        };
        let (&[rows, inner], &[others, columns]) = (a.shape.as_slice(), c.shape.as_slice()) else {
            return Contract::Unspecified("no matrices");
        };
        if inner != others || a.shape != b.shape {
            return Contract::Rejects(why::SHAPES);
        }
        if a.dtype != b.dtype || a.dtype != c.dtype {
            return Contract::Rejects(why::MIXED);
        }
        if !a.dtype.is_float() || rows * inner * columns == 0 {
            return Contract::Unspecified("a product of integers or of nothing");
        }
        Contract::accepts(a.dtype, &[rows, columns]).may_refuse(!c.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| Ok(vec![(call.tensor("a")? + call.tensor("b")?)?.matmul(call.tensor("c")?)?]),
    source: "(&a + &b)?.matmul(&c)?",
    torch: "(a + b) @ c",
    reference: Some(|inputs| {
        let (a, b, c) = (inputs.array("a"), inputs.array("b"), inputs.array("c"));
        let dot = |row: usize, column: usize| {
            let products = (0..c.shape()[0]).flat_map(|k| {
                let rounding = (a[[row, k]] + b[[row, k]]) - a[[row, k]] - b[[row, k]];
                [a[[row, k]], b[[row, k]], rounding].map(|factor| factor * c[[k, column]])
            });
            Num::sum(products)
        };
        vec![ArrayD::from_shape_fn(IxDyn(&[a.shape()[0], c.shape()[1]]), |index| dot(index[0], index[1]))]
    }),
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "matrix multiplication is linear",
};

/// `conv1d(2 x)` is `2 conv1d(x)`, exactly.
pub static CONV1D_SCALED: Op = Op {
    name: "relation.conv1d_scaled",
    covers: &["Tensor::conv1d"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| drawn(draw, &conv::CONV1D, |_| true),
    contract: |case| plain(case, &conv::CONV1D),
    call: |call| {
        let call = promised(call, &plain(call.case, &conv::CONV1D))?;
        let mut tensors = call.tensors.clone();
        tensors.insert("x", (call.tensor("x")? * 2.0)?);
        (conv::CONV1D.call)(&Call { case: call.case, tensors, device: call.device })
    },
    source: r#"
        let x = (&x * 2.0)?;
        {% include "tensor.conv1d" %}
    "#,
    torch: "",
    reference: Some(|inputs| {
        let doubled = inputs.array("x").mapv(|x| x * Num::exact(2.0));
        let inputs = ReferenceInputs {
            case: inputs.case,
            direction: inputs.direction,
            shift: inputs.shift,
            flowing: Some(("x", doubled)),
        };
        conv::CONV1D.reference.map_or_else(Vec::new, |of| of(&inputs))
    }),
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "a convolution is linear",
};

/// The sum of all elements: at once, over a list of all dimensions, and over one dimension after the other.
pub static SUM_IN_TURN: Op = Op {
    name: "relation.sum_in_turn",
    covers: &["Tensor::sum_all", "Tensor::sum"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(SUM_IN_TURN.support)?;
        let mut shape: Vec<usize> = draw.shape(0, 2)?.into_iter().map(|n| n.max(1)).collect();
        shape.push(draw.reduced()?.max(1));
        Ok(Case::default().input("x", draw.tensor(dtype, &shape)?))
    },
    contract: |case| match case.tensor("x") {
        None => Contract::Rejects(why::SHAPES),
        Some(x) if x.shape.is_empty() || x.shape.contains(&0) => Contract::Unspecified("the sum of nothing"),
        Some(x) if !x.dtype.is_float() => Contract::Unspecified("integer overflow"),
        Some(x) => Contract::Accepts { outputs: vec![(x.dtype, Vec::new()); 3], refusal: None },
    },
    call: |call| {
        let x = call.tensor("x")?;
        let dims: Vec<usize> = (0..x.rank()).collect();
        let in_turn = dims.iter().try_fold(x.clone(), |x, _| x.sum(0))?;
        Ok(vec![x.sum_all()?, x.sum(dims)?, in_turn])
    },
    source: r#"
        {% set dims = range(inputs.x.shape|length) %}
        let in_turn = x{% for _ in dims %}.sum(0)?{% else %}.clone(){% endfor %};
        let outputs = [x.sum_all()?, x.sum([{{ dims|join(", ") }}])?, in_turn];
    "#,
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let once = Num::sum(x.iter().copied());
        let mut in_turn = x;
        while in_turn.ndim() > 0 {
            in_turn = in_turn.map_axis(Axis(0), |lane| Num::sum(lane.iter().copied()));
        }
        [scalar(once), scalar(once), vec![in_turn]].concat()
    }),
    ulps: 4.0,
    // The ops' own entries judge their gradients.
    differentiable: &[],
    promise: "a sum over dimensions is the sum of their sums",
};
