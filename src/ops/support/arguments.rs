//! Inputs and params that several ops declare.

use super::other_device::{OBJECTS, PLACES};
use crate::case::{InputSpec, ParamSpec};

/// A tensor of any shape.
pub const ANY: InputSpec = InputSpec::new("x", "of any shape");
/// Images.
pub const IMAGES: InputSpec = InputSpec::new("x", "(N, C, H, W)");
/// The labels of a loss.
pub const LABELS: InputSpec = InputSpec::new("target", "(N), integers below C: the class of each row").discrete();
/// The bias of a convolution.
pub const CHANNEL_BIAS: InputSpec = InputSpec::new("bias", "(O)").optional();
/// The cosines of a rotary embedding.
pub const COS: InputSpec = InputSpec::new("cos", "(T, D / 2), or one such matrix per element of the batch");
/// The sines of a rotary embedding.
pub const SIN: InputSpec = InputSpec::new("sin", "shaped as `cos`");

/// The inputs of `cat` and `stack`.
pub const PARTS: &[InputSpec] = &[
    InputSpec::new("t0", "the first part"),
    InputSpec::new("t1", "another part").optional(),
    InputSpec::new("t2", "another part").optional(),
    InputSpec::new("t3", "another part").optional(),
];

/// The inputs of a cache: keys and values of up to four appends.
pub const APPENDS: &[InputSpec] = &[
    InputSpec::new("k0", "the keys of the first append"),
    InputSpec::new("v0", "its values"),
    InputSpec::new("k1", "the keys of another append").optional(),
    InputSpec::new("v1", "its values").optional(),
    InputSpec::new("k2", "the keys of another append").optional(),
    InputSpec::new("v2", "its values").optional(),
    InputSpec::new("k3", "the keys of another append").optional(),
    InputSpec::new("v3", "its values").optional(),
];

/// A dimension.
pub const DIM: ParamSpec = ParamSpec::size("dim", 0, "The dimension, from 0.");
/// Several dimensions.
pub const DIMS: ParamSpec = ParamSpec::sizes("dims", "The dimensions, from 0.");
/// The dtype of a created tensor.
pub const DTYPE: ParamSpec = ParamSpec::dtype("dtype", "The dtype of the output.");
/// The rows of a created matrix.
pub const ROWS: ParamSpec = ParamSpec::size("rows", 0, "The number of rows.");
/// The columns of a created matrix.
pub const COLUMNS: ParamSpec = ParamSpec::size("columns", 0, "The number of columns.");
/// The epsilon of a normalization.
pub const EPS: ParamSpec = ParamSpec::float("eps", 1e-5, "Added to the variance.");
/// The order of a sort.
pub const ASCENDING: ParamSpec = ParamSpec::flag("asc", true, "Sort in ascending order.");
/// The form of a reduction.
pub const KEEPDIM: ParamSpec = ParamSpec::word("form", &["", "keepdim"], "The method, plain or keeping dimensions.");
/// The form of a reduction that may be over everything.
pub const KEEPDIM_OR_ALL: ParamSpec =
    ParamSpec::word("form", &["", "keepdim", "all"], "The method: plain, keeping dimensions, or over everything.");
/// The other device of a call.
pub const ELSEWHERE: ParamSpec =
    ParamSpec::word("to", OBJECTS, "The other device: the host, the second GPU, or another object of the same GPU.");
/// The other device of a call that rejects tensors of two devices.
pub const OTHER_PLACE: ParamSpec = ParamSpec::word("to", PLACES, "The other device: the host, or the second GPU.");

/// The padding of a convolution.
pub const PADDING: ParamSpec = ParamSpec::size("padding", 0, "Zeros on each side, per spatial dimension.");
/// The stride of a convolution.
pub const STRIDE: ParamSpec = ParamSpec::size("stride", 1, "The distance between windows.");
/// The dilation of a convolution.
pub const DILATION: ParamSpec = ParamSpec::size("dilation", 1, "The distance between elements of a window.");
/// The groups of a convolution.
pub const GROUPS: ParamSpec = ParamSpec::size("groups", 1, "The number of groups of channels.");
/// The output padding of a transposed convolution.
pub const OUTPUT_PADDING: ParamSpec =
    ParamSpec::size("output_padding", 0, "Elements to add on one side of the output.");
/// The algorithm of a convolution.
pub const ALGORITHM: ParamSpec =
    ParamSpec::word("algo", &["", "direct", "gemm", "implicit gemm"], "The algorithm that cuDNN is asked for.");
/// Whether a `VarBuilder` makes a layer.
pub const BUILT: ParamSpec = ParamSpec::word("form", &["", "built"], "Build the layer with a `VarBuilder`.");

/// The height of a pooling window.
pub const KERNEL_HEIGHT: ParamSpec = ParamSpec::size("kh", 1, "The height of a window.");
/// The width of a pooling window.
pub const KERNEL_WIDTH: ParamSpec = ParamSpec::size("kw", 1, "The width of a window.");
/// The vertical stride of pooling.
pub const STRIDE_DOWN: ParamSpec = ParamSpec::size("sh", 1, "The vertical distance between windows.").optional();
/// The horizontal stride of pooling.
pub const STRIDE_RIGHT: ParamSpec = ParamSpec::size("sw", 1, "The horizontal distance between windows.").optional();

/// The number that a relation adds to all logits.
pub const SHIFT: ParamSpec = ParamSpec::float("shift", 0.0, "Added to every element.");
/// Whether a relation calls the fused op.
pub const FUSED: ParamSpec =
    ParamSpec::word("form", &["composed", "fused"], "The op composed of other ops, or the fused one.");
