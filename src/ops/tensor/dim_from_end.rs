//! `D::Minus1`, `D::Minus2` and `D::Minus`: a dimension counted from the end, in each function that takes one.

use candle_core::{D, Result, Tensor};

use crate::case::{Case, ParamSpec};
use crate::ops::op::softmax::SOFTMAX;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::{FLOATS, FLOATS_AND_F8};
use crate::ops::support::relation::contiguous_contract;
use crate::ops::tensor::{
    argmax::ARGMAX, argmin::ARGMIN, cat::CAT, flatten::FLATTEN, get::GET, index_select::INDEX_SELECT,
    log_sum_exp::LOG_SUM_EXP, max::MAX, mean::MEAN, min::MIN, narrow::NARROW, pad::PAD_WITH_SAME, pad::PAD_WITH_ZEROS,
    roll::ROLL, slice_set::SLICE_SET, squeeze::SQUEEZE, stack::STACK, sum::SUM, transpose::TRANSPOSE, unfold::UNFOLD,
    var::VAR,
};
use crate::ops::{Contract, Op, ReferenceInputs, rule};
use crate::tensor::{DType, Tensor as Data, Value};

/// Makes the table of calls, and their text in programs, from one list. Behind each call: the op that says what it returns, and that op's
/// case for the dimension counted from the front. `cumsum` is not among them: candle refuses some dimensions of it anyhow.
macro_rules! calls {
    (|$x:ident, $dim:ident| $($name:literal = $call:expr, $op:expr, $plain:expr;)*) => {
        const NAMES: &[&str] = &[$($name),*];
        const SOURCE: &str = concat!(
            "{% set named = {1: \"D::Minus1\", 2: \"D::Minus2\"} if by != \"number\" else {} %}\n\
             let dim = {{ named[back]|default(\"D::Minus(\" ~ back ~ \")\") }};\n",
            $("{% if call == \"", $name, "\" %}\n", stringify!($call), "?\n{% endif %}\n",)*
        );

        fn call(name: &str, $x: &Tensor, $dim: D) -> Result<Tensor> {
            match name {
                $($name => $call,)*
                _ => candle_core::bail!("there is no such call"),
            }
        }

        fn plain(name: &str, case: Case, dim: usize) -> (&'static Op, Case) {
            let plain: (&'static Op, fn(Case, usize) -> Case) = match name {
                $($name => ($op, $plain),)*
                _ => (&NARROW, |case, dim| case.param("dim", dim)),
            };
            (plain.0, plain.1(case, dim))
        }
    };
}

calls! {
    |x, dim|
    "narrow" = x.narrow(dim, 0, 1), &NARROW, |case, dim| case.param("dim", dim).param("len", 1_usize);
    "argmax" = x.argmax(dim), &ARGMAX, |case, dim| case.param("dim", dim);
    "argmin" = x.argmin(dim), &ARGMIN, |case, dim| case.param("dim", dim);
    "cat" = Tensor::cat(&[x.clone(), x.clone()], dim), &CAT, |case, dim| parts(case).param("dim", dim);
    "flatten_from" = x.flatten_from(dim), &FLATTEN, |case, dim| case.param("form", "from").param("start", dim);
    "flatten_to" = x.flatten_to(dim), &FLATTEN, |case, dim| case.param("form", "to").param("end", dim);
    "get_on_dim" = x.get_on_dim(dim, 0), &GET, |case, dim| case.param("dim", dim);
    "index_select" = x.index_select(&Tensor::new(&[0u32], x.device())?, dim), &INDEX_SELECT, |case, dim| {
        case.input("ids", Data::new(DType::U32, vec![1], vec![Value::Int(0)])).param("dim", dim)
    };
    "log_sum_exp" = x.log_sum_exp(dim), &LOG_SUM_EXP, |case, dim| case.param("dims", vec![dim]);
    "max" = x.max(dim), &MAX, |case, dim| case.param("dim", dim);
    "mean" = x.mean(dim), &MEAN, |case, dim| case.param("dims", vec![dim]);
    "min" = x.min(dim), &MIN, |case, dim| case.param("dim", dim);
    "pad_with_same" = x.pad_with_same(dim, 1, 0), &PAD_WITH_SAME, |case, dim| case.param("dim", dim).param("left", 1_usize);
    "pad_with_zeros" = x.pad_with_zeros(dim, 1, 0), &PAD_WITH_ZEROS, |case, dim| case.param("dim", dim).param("left", 1_usize);
    "roll" = x.roll(1, dim), &ROLL, |case, dim| case.param("dim", dim).param("shift", 1_usize);
    "slice_set" = x.copy().and_then(|copy| copy.slice_set(x, dim, 0).map(|()| copy)), &SLICE_SET, |case, dim| {
        let src = case.inputs["x"].clone();
        case.input("src", src).param("dim", dim)
    };
    "softmax" = candle_nn::ops::softmax(x, dim), &SOFTMAX, |case, dim| case.param("dim", dim);
    "squeeze" = x.squeeze(dim), &SQUEEZE, |case, dim| case.param("dim", dim);
    "stack" = Tensor::stack(&[x.clone(), x.clone()], dim), &STACK, |case, dim| parts(case).param("dim", dim);
    "sum" = x.sum(dim), &SUM, |case, dim| case.param("dims", vec![dim]);
    "transpose" = x.transpose(dim, 0), &TRANSPOSE, |case, dim| case.param("form", "transpose").param("dim1", dim);
    "unfold" = x.unfold(dim, 1, 1), &UNFOLD, |case, dim| case.param("dim", dim).param("size", 1_usize).param("step", 1_usize);
    "unsqueeze" = x.unsqueeze(dim), &SQUEEZE, |case, dim| case.param("form", "unsqueeze").param("dim", dim);
    "var" = x.var(dim), &VAR, |case, dim| case.param("dim", dim);
}

/// A function of `x` for the dimension that is `back` from the end: `D::Minus1` and `D::Minus2` by name, or `D::Minus(back)`. The output
/// is that for the same dimension counted from the front.
pub static DIM_FROM_END: Op = Op {
    name: "tensor.dim_from_end",
    covers: &["Tensor::narrow", "Tensor::cat", "Tensor::unsqueeze", "ops::softmax"],
    support: FLOATS_AND_F8,
    inputs: &[ANY],
    params: &[
        ParamSpec::size("back", 1, "How far the dimension is from the end: 1 is the last one."),
        ParamSpec::word(
            "by",
            &["name", "number"],
            "How the dimension is written: `D::Minus1` and `D::Minus2`, or `D::Minus` of a number.",
        ),
        ParamSpec::word("call", NAMES, "The function."),
    ],
    generate: &|draw| {
        let name = *draw.choose(NAMES)?;
        let shape: Vec<usize> = draw.open_shape(1, 4)?.into_iter().map(|size| size.max(1)).collect();
        let back = draw.between(1, places(name, shape.len()))?;
        let dtype = draw.dtype(FLOATS)?;
        // What is special about values and layouts is shown by the functions' own ops.
        let case = Case::default().input("x", draw.ordinary_tensor(dtype, &shape)?).contiguous();
        Ok(case.param("call", name).param("back", back).param("by", *draw.choose(&["name", "number"])?))
    },
    contract: &|case| match from_front(case) {
        Ok((op, plain)) => contiguous_contract(&plain, op),
        Err(contract) => contract,
    },
    call: &|here| {
        let dim = match (here.size("back"), here.case.text("by")) {
            (1, by) if by != "number" => D::Minus1,
            (2, by) if by != "number" => D::Minus2,
            (back, _) => D::Minus(back),
        };
        Ok(vec![call(here.case.text("call"), here.tensor("x")?, dim)?])
    },
    source: SOURCE,
    // The functions have scripts of their own.
    torch: "",
    reference: Some(&|inputs| {
        let Ok((op, plain)) = from_front(inputs.case) else { return Vec::new() };
        // One input flows, and some calls have `x` twice.
        let is_twice = ["src", "t1"].iter().any(|name| plain.inputs.contains_key(*name));
        let reference = op.reference().filter(|_| inputs.flowing.is_none() || !is_twice);
        reference.map_or_else(Vec::new, |of| of(&ReferenceInputs { case: &plain, ..inputs.clone() }))
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/shape.rs:289-331: counted from the end, an Err if there is no such dimension, as torch \
              for negative ones; \
              otherwise as each function",
};

/// How many dimensions a function can name: one that adds a dimension may put it last.
fn places(name: &str, rank: usize) -> usize {
    rank + usize::from(["stack", "unsqueeze"].contains(&name))
}

/// Twice `x`.
fn parts(mut case: Case) -> Case {
    let x = case.inputs.remove("x").unwrap_or_else(|| unreachable!("a case that has a rank has an `x`"));
    case.input("t0", x.clone()).input("t1", x)
}

/// The op and the case in which the dimension is counted from the front.
fn from_front(case: &Case) -> std::result::Result<(&'static Op, Case), Contract> {
    let Some(x) = case.tensor("x") else { return Err(Contract::Rejects(&rule::SHAPES)) };
    let name = case.text("call");
    if x.shape.is_empty() && name.starts_with("flatten") {
        return Err(Contract::Unspecified("dimensions of a scalar"));
    }
    let back = case.size("back");
    let dim = places(name, x.shape.len()).checked_sub(back).filter(|_| back > 0);
    let Some(dim) = dim else { return Err(Contract::Rejects(&rule::DIM)) };
    Ok(plain(name, Case::default().input("x", x.clone()), dim))
}
