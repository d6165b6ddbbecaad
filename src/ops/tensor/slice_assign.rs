//! `Tensor::slice_assign`.

use crate::case::{InputSpec, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::slice_writes::{draw_pair, operands, with_block};
use crate::ops::{Contract, Op, rule};

/// `x.slice_assign(&[start0..end0, ..], src)`: a copy of `x` with `src` at these ranges.
pub static SLICE_ASSIGN: Op = Op {
    name: "tensor.slice_assign",
    covers: &["Tensor::slice_assign"],
    support: COPIES,
    inputs: &[ANY, InputSpec::new("src", "the values to write, no larger than `x`")],
    params: &[
        ParamSpec::sizes("ends", "The end of each range."),
        ParamSpec::sizes("starts", "The start of each range."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(COPIES)?;
        let x: Vec<usize> = draw.open_shape(1, 3)?.into_iter().map(|n| n.max(1)).collect();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for &n in &x {
            starts.push(draw.between(0, n - 1)?);
            ends.push(draw.between(starts[starts.len() - 1] + 1, n)?);
        }
        let src: Vec<usize> = starts.iter().zip(&ends).map(|(start, end)| end - start).collect();
        Ok(draw_pair(draw, dtype, &x, &src)?.param("starts", starts).param("ends", ends))
    },
    contract: &|case| {
        let (x, src) = match operands(case) {
            Ok(operands) => operands,
            Err(contract) => return contract,
        };
        let (starts, ends) = (case.sizes("starts"), case.sizes("ends"));
        if starts.len() != x.shape.len() || ends.len() != x.shape.len() {
            return Contract::Rejects(&rule::RANK);
        }
        if starts.iter().zip(&ends).any(|(start, end)| start >= end) {
            return Contract::Unspecified("an empty range");
        }
        let fits = |d: usize| ends[d] <= x.shape[d] && ends[d] - starts[d] == src.shape[d];
        if !(0..x.shape.len()).all(fits) {
            return Contract::Rejects(&rule::PART);
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: &|call| {
        let ranges = call.case.sizes("starts").into_iter().zip(call.case.sizes("ends"));
        let ranges: Vec<_> = ranges.map(|(start, end)| start..end).collect();
        Ok(vec![call.tensor("x")?.slice_assign(&ranges, call.tensor("src")?)?])
    },
    source: r#"
        x.slice_assign(&[
        {%- for start, end in starts|zip(ends) %}
        {{- "" if loop.first else ", " }}{{ start }}..{{ end }}
        {%- endfor %}], &src)?
    "#,
    torch: r#"
        output = x.clone()
        output[
        {%- for start, end in starts|zip(ends) %}
        {{- "" if loop.first else ", " }}{{ start }}:{{ end }}
        {%- endfor %}] = src
    "#,
    reference: Some(&|inputs| with_block(inputs, &inputs.case.sizes("starts"))),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:2860-2914; an assignment to slices of a torch.Tensor",
};
