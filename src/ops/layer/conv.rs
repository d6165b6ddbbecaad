//! The layers `Conv1d` and `Conv2d`, made from their tensors or by a builder.

use candle_core::Module;
use candle_nn::{Conv1d, Conv1dConfig, Conv2d};
use ndarray::ArrayD;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::arguments::{ALGORITHM, BUILT, CHANNEL_BIAS, DILATION, GROUPS, PADDING, STRIDE};
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::images::conv_layer::{PROMISE, Parts, config2d, contract, generate, parts, with_bias};
use crate::ops::support::images::convolution::{Window, convolve, window};
use crate::ops::tensor::conv;
use crate::ops::{Op, ReferenceInputs};

/// `conv1d` and a bias per channel.
pub static CONV1D: Op = Op {
    name: "layer.conv1d",
    covers: &["Conv1d", "Conv1dConfig", "conv::conv1d", "conv::conv1d_no_bias", "Conv1d::new"],
    support: FLOATS,
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(O, C / groups, K)"), CHANNEL_BIAS],
    params: &[ALGORITHM, DILATION, BUILT, GROUPS, PADDING, STRIDE],
    generate: &|draw| generate(draw, conv::generate, 1),
    contract: &|case| contract(case, conv::contract, 1),
    call: &|call| {
        let Window { padding, stride, dilation, groups } = window(call.case);
        let config = Conv1dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: conv::algo(call.case) };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => Conv1d::new(kernel, bias, config),
            Some(vb) => {
                let (outer, inner, taps) = kernel.dims3()?;
                let make = if bias.is_some() { candle_nn::conv1d } else { candle_nn::conv1d_no_bias };
                make(inner.saturating_mul(groups), outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::Conv1dConfig { {% include "config" %} };
        {% if form == "built" %}
        {% set outer, inner, taps = inputs.kernel.shape %}
        {% set make = "conv1d" if inputs.bias else "conv1d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner * groups }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::Conv1d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv1d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "window" %})"#,
    reference: Some(&convolved),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: PROMISE,
};

/// `conv2d` and a bias per channel.
pub static CONV2D: Op = Op {
    name: "layer.conv2d",
    covers: &["Conv2d", "Conv2dConfig", "conv::conv2d", "conv::conv2d_no_bias", "Conv2d::new"],
    support: conv::CONV2D.support,
    inputs: &[InputSpec::new("x", "(B, C, H, W)"), InputSpec::new("kernel", "(O, C / groups, KH, KW)"), CHANNEL_BIAS],
    params: &[ALGORITHM, DILATION, BUILT, GROUPS, PADDING, STRIDE],
    generate: &|draw| generate(draw, conv::generate, 2),
    contract: &|case| contract(case, conv::contract, 2),
    call: &|call| {
        let Parts { kernel, bias, built } = parts(call)?;
        let config = config2d(call.case);
        let layer = match built {
            None => Conv2d::new(kernel, bias, config),
            Some(vb) => {
                let (outer, inner, taps, _) = kernel.dims4()?;
                let make = if bias.is_some() { candle_nn::conv2d } else { candle_nn::conv2d_no_bias };
                make(inner.saturating_mul(config.groups), outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::Conv2dConfig { {% include "config" %} };
        {% if form == "built" %}
        {% set outer, inner, taps, _ = inputs.kernel.shape %}
        {% set make = "conv2d" if inputs.bias else "conv2d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner * groups }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::Conv2d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv2d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "window" %})"#,
    reference: Some(&convolved),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: PROMISE,
};

/// The convolution and its bias.
fn convolved(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let out = convolve(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case));
    vec![with_bias(out, inputs.optional("bias").as_ref())]
}
