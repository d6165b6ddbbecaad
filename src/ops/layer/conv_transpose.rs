//! The layers `ConvTranspose1d` and `ConvTranspose2d`, made from their tensors or by a builder.

use candle_core::Module;
use candle_nn::{ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig};
use ndarray::ArrayD;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::arguments::{BUILT, CHANNEL_BIAS, DILATION, GROUPS, OUTPUT_PADDING, PADDING, STRIDE};
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::images::conv_layer::{PROMISE, Parts, contract, generate, parts, with_bias};
use crate::ops::support::images::convolution::{Window, convolve_transposed, window};
use crate::ops::tensor::conv_transpose;
use crate::ops::{Op, ReferenceInputs};

/// `conv_transpose1d` and a bias per channel.
pub static CONV_TRANSPOSE1D: Op = Op {
    name: "layer.conv_transpose1d",
    covers: &[
        "ConvTranspose1d",
        "ConvTranspose1dConfig",
        "conv::conv_transpose1d",
        "conv::conv_transpose1d_no_bias",
        "ConvTranspose1d::new",
    ],
    support: FLOATS,
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(C, O / groups, K)"), CHANNEL_BIAS],
    params: &[DILATION, BUILT, GROUPS, OUTPUT_PADDING, PADDING, STRIDE],
    generate: &|draw| generate(draw, conv_transpose::generate, 1),
    contract: &|case| contract(case, conv_transpose::contract, 1),
    call: &|call| {
        let Window { padding, stride, dilation, groups } = window(call.case);
        let output_padding = call.size("output_padding");
        let config = ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => ConvTranspose1d::new(kernel, bias, config),
            Some(vb) => {
                let (inner, outer, taps) = kernel.dims3()?;
                let make =
                    if bias.is_some() { candle_nn::conv_transpose1d } else { candle_nn::conv_transpose1d_no_bias };
                make(inner, outer.saturating_mul(groups), taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::ConvTranspose1dConfig { {% include "transpose" %}, groups: {{ groups }} };
        {% if form == "built" %}
        {% set inner, outer, taps = inputs.kernel.shape %}
        {% set make = "conv_transpose1d" if inputs.bias else "conv_transpose1d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner }}, {{ outer * groups }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::ConvTranspose1d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv_transpose1d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "transpose" %})"#,
    reference: Some(&transposed),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: PROMISE,
};

/// `conv_transpose2d` and a bias per channel.
pub static CONV_TRANSPOSE2D: Op = Op {
    name: "layer.conv_transpose2d",
    covers: &[
        "ConvTranspose2d",
        "ConvTranspose2dConfig",
        "conv::conv_transpose2d",
        "conv::conv_transpose2d_no_bias",
        "ConvTranspose2d::new",
    ],
    support: conv_transpose::CONV_TRANSPOSE2D.support,
    inputs: &[InputSpec::new("x", "(B, C, H, W)"), InputSpec::new("kernel", "(C, O, KH, KW)"), CHANNEL_BIAS],
    params: &[DILATION, BUILT, OUTPUT_PADDING, PADDING, STRIDE],
    generate: &|draw| generate(draw, conv_transpose::generate, 2),
    contract: &|case| contract(case, conv_transpose::contract, 2),
    call: &|call| {
        let Window { padding, stride, dilation, .. } = window(call.case);
        let output_padding = call.size("output_padding");
        let config = ConvTranspose2dConfig { padding, output_padding, stride, dilation };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => ConvTranspose2d::new(kernel, bias, config),
            Some(vb) => {
                let (inner, outer, taps, _) = kernel.dims4()?;
                let make =
                    if bias.is_some() { candle_nn::conv_transpose2d } else { candle_nn::conv_transpose2d_no_bias };
                make(inner, outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::ConvTranspose2dConfig { {% include "transpose" %} };
        {% if form == "built" %}
        {% set inner, outer, taps, _ = inputs.kernel.shape %}
        {% set make = "conv_transpose2d" if inputs.bias else "conv_transpose2d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::ConvTranspose2d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv_transpose2d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "transpose" %})"#,
    reference: Some(&transposed),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: PROMISE,
};

/// The transposed convolution and its bias.
fn transposed(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let more = inputs.case.size("output_padding");
    let out = convolve_transposed(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case), more);
    vec![with_bias(out, inputs.optional("bias").as_ref())]
}
