//! Resizing to the nearest element.

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::arguments::IMAGES;
use crate::ops::support::images::resizing::{nearest, resized_contract};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `x (N, C, L)` at `w` positions: the element at `floor(position * L / w)`.
pub static INTERPOLATE1D: Op = Op {
    name: "tensor.interpolate1d",
    covers: &["Tensor::interpolate1d", "Tensor::upsample_nearest1d"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &[] },
    inputs: &[InputSpec::new("x", "(N, C, L)")],
    params: &[
        ParamSpec::word("form", &["", "alias"], "The method, or its other name `upsample_nearest`."),
        ParamSpec::size("w", 1, "The new width."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(INTERPOLATE1D.support)?;
        let shape = [draw.size()?, draw.size()?, draw.positive()?];
        let target = if draw.one_in(2)? { shape[2] * draw.between(1, 3)? } else { draw.between(1, 9)? };
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("w", target);
        case.backward = draw.backward()?;
        Ok(if draw.one_in(4)? { case.param("form", "alias") } else { case })
    },
    contract: &|case| contract(case, &["w"]),
    call: &|call| {
        let (x, target) = (call.tensor("x")?, call.size("w"));
        let alias = call.case.text("form") == "alias";
        Ok(vec![if alias { x.upsample_nearest1d(target)? } else { x.interpolate1d(target)? }])
    },
    source: "x.{{ 'upsample_nearest' if form == 'alias' else 'interpolate' }}1d({{ w }})?",
    torch: "F.interpolate(x, size={{ w }})",
    reference: Some(&|inputs| vec![nearest(&inputs.array("x"), &[inputs.case.size("w")])]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: NEAREST_PROMISE,
};

/// `x (N, C, H, W)` at `h` times `w` positions, each dimension as for [`INTERPOLATE1D`].
pub static INTERPOLATE2D: Op = Op {
    name: "tensor.interpolate2d",
    covers: &["Tensor::interpolate2d", "Tensor::upsample_nearest2d"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 },
    inputs: &[IMAGES],
    params: &[
        ParamSpec::word("form", &["", "alias"], "The method, or its other name `upsample_nearest`."),
        ParamSpec::size("h", 1, "The new height."),
        ParamSpec::size("w", 1, "The new width."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(INTERPOLATE2D.support)?;
        let shape = [draw.size()?, draw.between(1, 3)?, draw.positive()?, draw.between(1, 4)?];
        let scale = draw.between(1, 3)?;
        let even = draw.one_in(2)?;
        let mut target = |size| if even { Ok(size * scale) } else { draw.between(1, 9) };
        let (h, w) = (target(shape[2])?, target(shape[3])?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("h", h).param("w", w);
        case.backward = draw.backward()?;
        Ok(if draw.one_in(4)? { case.param("form", "alias") } else { case })
    },
    contract: &|case| contract(case, &["h", "w"]),
    call: &|call| {
        let (x, h, w) = (call.tensor("x")?, call.size("h"), call.size("w"));
        let alias = call.case.text("form") == "alias";
        Ok(vec![if alias { x.upsample_nearest2d(h, w)? } else { x.interpolate2d(h, w)? }])
    },
    source: r#"
        {% set name = "upsample_nearest" if form == "alias" else "interpolate" %}
        x.{{ name }}2d({{ h }}, {{ w }})?
    "#,
    torch: "F.interpolate(x, size=({{ h }}, {{ w }}))",
    reference: Some(&|inputs| {
        let target = [inputs.case.size("h"), inputs.case.size("w")];
        vec![nearest(&inputs.array("x"), &target)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: NEAREST_PROMISE,
};

/// Where the contract of these ops comes from.
pub const NEAREST_PROMISE: &str = "candle-core/src/tensor.rs:1184-1223: the value of the nearest element; \
              torch.nn.functional.interpolate(mode='nearest'), which rejects sizes of 0";

fn contract(case: &Case, target: &[&str]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    let target: Vec<usize> = target.iter().map(|name| case.size(name)).collect();
    if x.shape.len() == target.len() + 2 { resized_contract(case, &target) } else { Contract::Rejects(&rule::RANK) }
}
