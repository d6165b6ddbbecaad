//! `Conv2d::absorb_bn`.

use candle_core::Module;
use candle_nn::{BatchNorm, Conv2d};
use ndarray::{ArrayD, IxDyn};

use crate::case::InputSpec;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::{ALGORITHM, CHANNEL_BIAS, DILATION, EPS, GROUPS, PADDING, STRIDE};
use crate::ops::support::images::conv_layer::{Parts, config2d, contract, generate, parts, with_bias};
use crate::ops::support::images::convolution::{convolve, window};
use crate::ops::tensor::conv;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{Tensor, Value};

/// `conv2d.absorb_bn(&batch_norm)`: one convolution that replaces the convolution and the normalization.
pub static CONV2D_ABSORB_BN: Op = Op {
    name: "layer.conv2d_absorb_bn",
    covers: &["Conv2d::absorb_bn"],
    support: conv::CONV2D.support,
    inputs: &[
        InputSpec::new("x", "(B, C, H, W)"),
        InputSpec::new("kernel", "(O, C / groups, KH, KW)"),
        CHANNEL_BIAS,
        InputSpec::new("beta", "(O): the bias of the normalization"),
        InputSpec::new("gamma", "(O): the weight of the normalization"),
        InputSpec::new("mean", "(O): the running mean"),
        InputSpec::new("variance", "(O): the running variance"),
    ],
    params: &[ALGORITHM, DILATION, EPS, GROUPS, PADDING, STRIDE],
    generate: &|draw| {
        let mut case = generate(draw, conv::generate, 2)?;
        case.params.remove("form");
        let (dtype, channels) = (case.inputs["x"].dtype, case.inputs["kernel"].shape[0]);
        for name in ["beta", "gamma", "mean"] {
            case = case.input(name, draw.tensor(dtype, &[channels])?);
        }
        let variances = [0.25, 0.5, 1.0, 2.0, 3.0];
        let variance = |draw: &mut Draw| Ok(Value::of(dtype, *draw.choose(&variances)?));
        let variance = (0..channels).map(|_| variance(draw)).collect::<arbitrary::Result<_>>()?;
        let eps = *draw.choose(&[1e-5, 1e-3, 1.0])?;
        Ok(case.input("variance", Tensor::new(dtype, vec![channels], variance)).param("eps", eps))
    },
    contract: &|case| {
        let layer = contract(case, conv::contract, 2);
        let Contract::Accepts { .. } = layer else { return layer };
        if case.inputs.values().any(|tensor| !tensor.dtype.is_float()) {
            return Contract::Rejects(&rule::NORMALIZATION);
        }
        let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else { return layer };
        for name in ["beta", "gamma", "mean", "variance"] {
            match case.tensor(name) {
                Some(tensor) if tensor.shape != [kernel.shape[0]] => return Contract::Rejects(&rule::SHAPES),
                Some(tensor) if tensor.dtype != x.dtype => return Contract::Rejects(&rule::MIXED),
                Some(_) => {}
                None => return Contract::Rejects(&rule::SHAPES),
            }
        }
        let eps = case.float("eps");
        if eps < 0.0 {
            return Contract::Rejects(&rule::NEGATIVE_EPS);
        }
        if !eps.is_finite() {
            return Contract::Unspecified("eps is not a finite number");
        }
        let has_root = |variance: f64| variance > 0.0 || variance == 0.0 && eps > 0.0;
        if !case.tensor("variance").is_some_and(|variance| variance.floats().into_iter().all(has_root)) {
            return Contract::Unspecified("a variance that is negative or NaN, or 0 without an eps");
        }
        layer
    },
    call: &|call| {
        let [beta, gamma, mean, variance] =
            ["beta", "gamma", "mean", "variance"].map(|name| call.tensor(name).cloned());
        let (eps, gamma) = (call.case.float("eps"), gamma?);
        let norm = BatchNorm::new(gamma.elem_count(), mean?, variance?, gamma, beta?, eps)?;
        let Parts { kernel, bias, .. } = parts(call)?;
        let layer = Conv2d::new(kernel, bias, config2d(call.case)).absorb_bn(&norm)?;
        let out = layer.forward(call.tensor("x")?)?;
        // The norm made variables of its statistics, and the weights of the layer depend on these.
        Ok(vec![if call.case.backward.is_none() { out.detach() } else { out }])
    },
    source: r#"
        {% set channels, bias = inputs.gamma.shape[0], "Some(bias)" if inputs.bias else "None" %}
        let config = candle_nn::Conv2dConfig { {% include "config" %} };
        let norm = candle_nn::BatchNorm::new({{ channels }}, mean, variance, gamma, beta, {{ eps }})?;
        candle_nn::Conv2d::new(kernel, {{ bias }}, config).absorb_bn(&norm)?.forward(&x)?
    "#,
    torch: r#"
        {% set bias = "bias" if inputs.bias else "None" %}
        out = F.conv2d(x, kernel, {{ bias }}, {% include "window" %})
        F.batch_norm(out, mean, variance, gamma, beta, eps={{ eps }})
    "#,
    reference: Some(&|inputs| {
        let [beta, gamma, mean, variance] = ["beta", "gamma", "mean", "variance"].map(|name| inputs.array(name));
        let eps = Num::exact(inputs.case.float("eps"));
        let scale: Vec<Num> = gamma.iter().zip(&variance).map(|(&gamma, &v)| gamma / (v + eps).sqrt()).collect();
        let mut kernel = inputs.array("kernel");
        for (mut part, &scale) in kernel.outer_iter_mut().zip(&scale) {
            part.mapv_inplace(|weight| weight * scale);
        }
        let bias = inputs.optional("bias");
        let shift = ArrayD::from_shape_fn(IxDyn(&[scale.len()]), |at| {
            let bias = bias.as_ref().map_or(Num::exact(0.0), |bias| bias[[at[0]]]);
            beta[[at[0]]] + scale[at[0]] * (bias - mean[[at[0]]])
        });
        vec![with_bias(convolve(&inputs.array("x"), &kernel, &window(inputs.case)), Some(&shift))]
    }),
    ulps: 8.0,
    differentiable: &["beta", "bias", "kernel", "x"],
    promise: "candle-nn/src/conv.rs:186-207; candle-nn/tests/batch_norm.rs; torch.nn.utils.fuse_conv_bn_eval",
};
