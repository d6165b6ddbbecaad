//! Gradients of a tensor that two branches use.

use candle_core::{Device, Tensor as Candle};
use ndarray::IxDyn;

use crate::case::{Backward, Case, ParamSpec};
use crate::ops::support::arguments::IMAGES;
use crate::ops::support::images::convolution::{Window, convolve};
use crate::ops::support::images::resizing::nearest;
use crate::ops::support::products::matrix_products::multiply;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support, View, product};

/// `x (N, C, H, W)` in two branches: its squares, and the op that the param `branch` names. The gradients of both add
/// up.
pub static GRADIENT_ACCUMULATION: Op = Op {
    name: "relation.gradient_accumulation",
    covers: &["Tensor::backward"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F64, DType::F16], cuda: &DType::FLOATS },
    inputs: &[IMAGES],
    params: &[
        ParamSpec::word("branch", BRANCHES, "The op of the other branch.").required(),
        ParamSpec::flag("first", false, "Put the other branch first."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(GRADIENT_ACCUMULATION.support)?;
        let side = draw.between(1, 2)?;
        let shape = [draw.between(1, 2)?, draw.between(1, 2)?, side, side];
        let branch = *draw.choose(BRANCHES)?;
        let mut case = Case::default().param("branch", branch);
        case = case.input("x", draw.tensor_in(dtype, &shape, View::default())?);
        case.backward = *draw.choose(&[Backward::Sum, Backward::Weighted])?;
        Ok(case.param("first", draw.between(0, 1)?))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        if x.shape.len() != 4 || x.shape.contains(&0) || !x.dtype.is_float() {
            return Contract::Unspecified("inputs other than float images");
        }
        if product(&x.shape).is_none_or(|n| n > 1 << 12) || !BRANCHES.contains(&case.text("branch")) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        let (n, c, h, w) = (x.shape[0], x.shape[1], x.shape[2], x.shape[3]);
        let branch = match case.text("branch") {
            "interpolate1d" => vec![n * c, h, 2 * w],
            "interpolate2d" => vec![n, c, 2 * h, 2 * w],
            "matmul" => vec![n, c, h, h],
            _ => vec![n, n, 1, 1],
        };
        let mut outputs = vec![(x.dtype, x.shape.clone()), (x.dtype, branch)];
        if case.int("first") != 0 {
            outputs.reverse();
        }
        Contract::Accepts { outputs, refusal: None }.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let x = call.tensor("x")?;
        let first = call.case.int("first") != 0;
        let square = if first { None } else { Some(x.sqr()?) };
        let branch = branch(x, call.case.text("branch"))?;
        Ok(match square {
            Some(square) => vec![square, branch],
            None => vec![branch, x.sqr()?],
        })
    },
    source: r#"
        {% set n, c, h, w = inputs.x.shape %}
        {% if first == 0 %}
        let square = x.sqr()?;
        {% endif %}
        {% if branch == "interpolate1d" %}
        let lines = x{{ to_host }}.reshape(({{ n * c }}, {{ h }}, {{ w }}))?;
        let branch = lines.interpolate1d({{ 2 * w }})?{{ ".to_device(&device)?" if cuda else "" }};
        {% elif branch == "interpolate2d" %}
        let branch = x.interpolate2d({{ 2 * h }}, {{ 2 * w }})?;
        {% elif branch == "matmul" %}
        let branch = x.matmul(&x.transpose(2, 3)?)?;
        {% else %}
        let branch = x.conv2d(&x, 0, 1, 1, 1)?;
        {% endif %}
        let outputs = {% if first == 0 %}[square, branch]{% else %}[branch, x.sqr()?]{% endif %};
    "#,
    torch: r#"
        {% set n, c, h, w = inputs.x.shape %}
        {% if branch == "interpolate1d" %}
        branch = F.interpolate(x.reshape({{ n * c }}, {{ h }}, {{ w }}), size={{ 2 * w }})
        {% elif branch == "interpolate2d" %}
        branch = F.interpolate(x, size=({{ 2 * h }}, {{ 2 * w }}))
        {% elif branch == "matmul" %}
        branch = x @ x.transpose(2, 3)
        {% else %}
        branch = F.conv2d(x, x)
        {% endif %}
        outputs = {{ "[x.square(), branch]" if first == 0 else "[branch, x.square()]" }}
    "#,
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let squares = x.mapv(|x| x * x);
        let (h, w) = (x.shape()[2], x.shape()[3]);
        let unit = Window { padding: 0, stride: 1, dilation: 1, groups: 1 };
        let branch = match inputs.case.text("branch") {
            "interpolate1d" => {
                let flat = IxDyn(&[x.shape()[0] * x.shape()[1], h, w]);
                nearest(&x.into_shape_with_order(flat).expect("the same elements"), &[2 * w])
            }
            "interpolate2d" => nearest(&x, &[2 * h, 2 * w]),
            "matmul" => {
                let transposed = x.clone().permuted_axes(IxDyn(&[0, 1, 3, 2]));
                multiply(&x, &transposed)
            }
            _ => convolve(&x, &x, &unit),
        };
        let mut outputs = vec![squares, branch];
        if inputs.case.int("first") != 0 {
            outputs.reverse();
        }
        outputs
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/backprop.rs:150-160: gradients of a node are summed over its uses; the chain rule",
};

const BRANCHES: &[&str] = &["interpolate1d", "interpolate2d", "matmul", "conv2d"];

/// The branch of this name.
fn branch(x: &Candle, name: &str) -> candle_core::Result<Candle> {
    let (n, c, h, w) = x.dims4()?;
    match name {
        // candle has no CUDA kernel for it.
        "interpolate1d" => {
            x.to_device(&Device::Cpu)?.reshape((n * c, h, w))?.interpolate1d(2 * w)?.to_device(x.device())
        }
        "interpolate2d" => x.interpolate2d(2 * h, 2 * w),
        "matmul" => x.matmul(&x.transpose(2, 3)?),
        _ => x.conv2d(x, 0, 1, 1, 1),
    }
}
