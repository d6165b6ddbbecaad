//! Tokens and their experts, as candle's mixtures of experts take them: pairs sorted by expert.

use ndarray::ArrayD;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, in_range, rule, why};
use crate::tensor::{DType, Tensor, Value};

/// Which row of the output each pair is.
pub const TOKEN_IDS: InputSpec =
    InputSpec::new("token_ids", "(M), u32: the row of the output of each pair of a token and an expert").discrete();
/// The expert of each pair.
pub const EXPERT_IDS: InputSpec =
    InputSpec::new("expert_ids", "(M), u32, in ascending order: the expert of each pair").discrete();
/// The weight of each pair.
pub const SCALES: InputSpec = InputSpec::new("scales", "(M), f32: the weight of each row of the output").optional();
/// How many experts a token has.
pub const TOPK: ParamSpec = ParamSpec::size(
    "topk",
    1,
    "The number of experts of each token: M of them, if there are no scales, per row of `x`.",
);
/// Which kernel runs.
pub const PREFILL: ParamSpec = ParamSpec::flag("prefill", false, "Use the kernel for many tokens.");

/// Adds pairs of drawn tokens and experts to a case, and what goes with them. The number of rows that `x` needs is returned.
pub fn draw_pairs(draw: &mut Draw, case: Case, experts: usize) -> arbitrary::Result<(Case, usize)> {
    let (tokens, topk, scaled) = (draw.between(1, 5)?, draw.between(1, 3)?, draw.one_in(2)?);
    let pairs = tokens * topk;
    let integers = |of: Vec<usize>| {
        let values = of.into_iter().map(|id| Value::Int(id as i64)).collect();
        Tensor::new(DType::U32, vec![pairs], values)
    };
    let token_ids = integers(draw.permutation(pairs)?);
    let mut of_pairs = (0..pairs).map(|_| draw.between(0, experts - 1)).collect::<arbitrary::Result<Vec<_>>>()?;
    of_pairs.sort_unstable();
    let mut case = case.input("token_ids", token_ids).input("expert_ids", integers(of_pairs));
    if scaled {
        case = case.input("scales", draw.ordinary_tensor(DType::F32, &[pairs])?.contiguous());
    }
    let prefill = i64::from(draw.one_in(2)?);
    Ok((case.param("topk", topk).param("prefill", prefill), if scaled { pairs } else { tokens }))
}

/// Accepts pairs of rows of `x` and of this many experts, for an output of this dtype and width.
pub fn routed(case: &Case, experts: usize, width: usize, dtype: DType) -> Contract {
    let (Some(x), Some(tokens), Some(of_tokens)) =
        (case.tensor("x"), case.tensor("token_ids"), case.tensor("expert_ids"))
    else {
        return Contract::Rejects(&rule::SHAPES);
    };
    let scales = case.tensor("scales");
    let topk = case.size("topk");
    let pairs = if scales.is_some() { Some(x.shape[0]) } else { x.shape[0].checked_mul(topk) };
    let Some(pairs) = pairs.filter(|&pairs| pairs > 0 && experts > 0 && width > 0 && x.shape[1] > 0 && topk > 0) else {
        return Contract::Unspecified("a product without elements");
    };
    let fits = |of: &Tensor| of.shape == [pairs];
    if ![tokens, of_tokens].into_iter().chain(scales).all(fits) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if tokens.dtype != DType::U32 || of_tokens.dtype != DType::U32 {
        return Contract::Rejects(&rule::ROUTING_DTYPE);
    }
    if scales.is_some_and(|scales| scales.dtype != DType::F32) {
        return Contract::Rejects(&rule::EXPERT_WEIGHTS);
    }
    let (mut tokens, of_tokens) = (tokens.ints(), of_tokens.ints());
    if tokens.iter().any(|&id| !in_range(id, pairs)) || of_tokens.iter().any(|&id| !in_range(id, experts)) {
        return Contract::Rejects(&rule::ID);
    }
    tokens.sort_unstable();
    tokens.dedup();
    if tokens.len() < pairs || !of_tokens.is_sorted() {
        return Contract::Unspecified("tokens that are not sorted by expert");
    }
    let accepts = Contract::accepts(dtype, &[pairs, width]);
    accepts
        .may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
        .may_refuse(x.shape[1] % 8 != 0, "a row size that is not a multiple of 8")
}

/// The output: `product` of each row of `x` and the matrix of its expert, times the weight of the row.
pub fn products(inputs: &ReferenceInputs, product: impl Fn(&[Num], usize) -> Vec<Num>) -> ArrayD<Num> {
    let (x, scales) = (inputs.array("x"), inputs.optional("scales"));
    let topk = inputs.case.size("topk");
    let columns = x.shape()[1];
    let x: Vec<Num> = x.iter().copied().collect();
    let (tokens, experts) = (inputs.ids("token_ids"), inputs.ids("expert_ids"));
    let mut rows = vec![Vec::new(); tokens.len()];
    for (&token, &expert) in tokens.iter().zip(&experts) {
        let (token, expert) = (usize::try_from(token).unwrap_or(0), usize::try_from(expert).unwrap_or(0));
        let row = if scales.is_some() { token } else { token / topk };
        let products = product(&x[row * columns..][..columns], expert);
        let scale = scales.as_ref().map(|scales| scales[[token].as_slice()]);
        rows[token] = products.into_iter().map(|product| scale.map_or(product, |scale| product * scale)).collect();
    }
    let width = rows.first().map_or(0, Vec::len);
    ArrayD::from_shape_vec(ndarray::IxDyn(&[rows.len(), width]), rows.concat()).expect("a row for each pair")
}
