//! What the layers of convolutions share: their bias and their builder.

use candle_nn::{Conv2dConfig, VarBuilder};
use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::images::convolution::{Window, window};
use crate::ops::support::models::builder::builder;
use crate::ops::tensor::conv;
use crate::ops::{Call, Contract, rule, why};
use crate::tensor::Tensor;

/// Where the contract of these layers comes from.
pub const PROMISE: &str =
    "candle-nn/src/conv.rs; the same contract as the function of Tensor; torch.nn.Conv1d and its siblings";

/// Draws a case of `function`, with a bias or a builder for some.
pub fn generate(
    draw: &mut Draw,
    function: fn(&mut Draw, usize) -> arbitrary::Result<Case>,
    spatial: usize,
) -> arbitrary::Result<Case> {
    let mut case = function(draw, spatial)?;
    let kernel = &case.inputs["kernel"];
    let transposed = case.params.contains_key("output_padding");
    let channels = if transposed { kernel.shape[1] * window(&case).groups } else { kernel.shape[0] };
    let (dtype, square) = (kernel.dtype, spatial == 1 || kernel.shape[2] == kernel.shape[3]);
    if dtype.is_float() && draw.one_in(2)? {
        case = case.input("bias", draw.tensor(dtype, &[channels])?);
    }
    Ok(if square && draw.one_in(3)? { case.param("form", "built") } else { case })
}

/// The contract of `function`, where a bias and a builder fit.
pub fn contract(case: &Case, function: fn(&Case, usize) -> Contract, spatial: usize) -> Contract {
    let contract = function(case, spatial);
    let built = case.text("form") == "built";
    if built && window(case).groups == 0 {
        return Contract::Rejects(&rule::NO_GROUPS);
    }
    let Contract::Accepts { outputs, .. } = &contract else { return contract };
    let (dtype, channels) = (outputs[0].0, outputs[0].1[1]);
    let square = case.tensor("kernel").is_some_and(|kernel| spatial == 1 || kernel.shape[2] == kernel.shape[3]);
    match case.tensor("bias") {
        _ if built && !square => Contract::Unspecified("this constructor makes only square kernels"),
        Some(bias) if bias.shape != [channels] => Contract::Rejects(&rule::BIAS_SHAPE),
        Some(bias) if bias.dtype != dtype && built => Contract::Unspecified("a `VarBuilder` has only one dtype"),
        Some(bias) if bias.dtype != dtype => Contract::Rejects(&rule::BIAS_DTYPE),
        Some(bias) if overflows(case, bias) => Contract::Unspecified(why::OVERFLOW),
        _ => contract,
    }
}

/// Whether a sum of products of integers and a bias may leave their dtype.
fn overflows(case: &Case, bias: &Tensor) -> bool {
    let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else { return false };
    let largest = |tensor: &Tensor| tensor.floats().into_iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    // A kernel has its outputs first, and that of a transposed convolution second.
    let outputs = kernel.shape[usize::from(case.params.contains_key("output_padding"))].max(1);
    let terms = kernel.elements().map_or(usize::MAX, |all| all / outputs) as f64;
    !bias.dtype.is_float() && largest(x) * largest(kernel) * terms + largest(bias) > bias.dtype.max()
}

/// The tensors of a layer, and a builder that holds them if the case asks for one.
pub struct Parts<'a> {
    /// The weights.
    pub kernel: candle_core::Tensor,
    /// The bias.
    pub bias: Option<candle_core::Tensor>,
    /// The builder that holds both.
    pub built: Option<VarBuilder<'a>>,
}

/// The parts that a call names.
pub fn parts<'a>(call: &Call) -> candle_core::Result<Parts<'a>> {
    let (kernel, bias) = (call.tensor("kernel")?.clone(), call.optional("bias").cloned());
    let built = (call.case.text("form") == "built").then(|| builder(&kernel, bias.as_ref()));
    Ok(Parts { kernel, bias, built })
}

/// The config of a `Conv2d`.
pub fn config2d(case: &Case) -> Conv2dConfig {
    let Window { padding, stride, dilation, groups } = window(case);
    Conv2dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: conv::algo(case) }
}

/// `out (B, C, ..)` plus a bias per channel.
pub fn with_bias(mut out: ArrayD<Num>, bias: Option<&ArrayD<Num>>) -> ArrayD<Num> {
    for (place, value) in out.indexed_iter_mut() {
        *value = bias.map_or(*value, |bias| *value + bias[[place[1]]]);
    }
    out
}
