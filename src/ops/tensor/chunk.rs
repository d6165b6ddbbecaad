//! `Tensor::chunk`.

use ndarray::Axis;

use crate::case::ParamSpec;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{TOO_LARGE, VIEWS, affordable, shape_of};
use crate::ops::support::moving::ids::dim;
use crate::ops::support::moving::slicing::{EMPTY_SLICE, draw_nonempty};
use crate::ops::{Contract, Op, rule};

/// `x.chunk(chunks, dim)`: that many parts. The first ones are larger by 1 if the size is not a multiple; a dimension
/// with fewer entries gives parts of 1.
pub static CHUNK: Op = Op {
    name: "tensor.chunk",
    covers: &["Tensor::chunk"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[ParamSpec::size("chunks", 0, "How many parts."), DIM],
    generate: &|draw| {
        let case = draw_nonempty(draw, 3)?;
        let dim = draw.between(0, shape_of(&case).len() - 1)?;
        Ok(case.param("dim", dim).param("chunks", draw.between(1, 5)?))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        if x.shape.contains(&0) && case.size("chunks") > 0 {
            return EMPTY_SLICE;
        }
        let lengths = match lengths(x.shape[dim], case.size("chunks")) {
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
        Contract::Accepts { outputs: lengths.into_iter().map(part).collect(), refusal: None }
    },
    call: &|call| call.tensor("x")?.chunk(call.size("chunks"), call.size("dim")),
    source: "let outputs = x.chunk({{ chunks }}, {{ dim }})?;",
    torch: r"
        {% if chunks > inputs.x.shape[dim]|default(0) %}
        outputs = x.split(1, dim={{ dim }})
        {% else %}
        outputs = x.tensor_split({{ chunks }}, dim={{ dim }})
        {% endif %}
    ",
    reference: Some(&|inputs| {
        let (x, dim) = (inputs.array("x"), inputs.case.size("dim"));
        let mut end = 0;
        let part = |length: usize| {
            end += length;
            x.select(Axis(dim), &(end - length..end).collect::<Vec<_>>())
        };
        lengths(x.shape()[dim], inputs.case.size("chunks")).unwrap_or_default().into_iter().map(part).collect()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:830-859 (\"the specified number of chunks\", \"may return less\"); torch.chunk: \
              the number of chunks is positive; parts as of torch.tensor_split",
};

fn lengths(size: usize, chunks: usize) -> Result<Vec<usize>, Contract> {
    match (size, chunks) {
        (_, 0) => Err(Contract::Rejects(&rule::NO_CHUNKS)),
        (0, _) => Err(Contract::Unspecified("chunks of an empty dimension")),
        (65.., 65..) => Err(Contract::Unspecified("too many chunks")),
        _ => {
            let chunks = chunks.min(size);
            Ok((0..chunks).map(|place| size / chunks + usize::from(place < size % chunks)).collect())
        }
    }
}
