//! Windows of images: cases, contract and reference.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// The dtypes of these ops.
pub const POOL_SUPPORT: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 };

/// Where the contract of these ops comes from.
pub const POOL_PROMISE: &str = "candle-core/src/tensor.rs:1338-1410: the average and the maximum over the window, \
    and the pages of torch.nn.AvgPool2d and torch.nn.MaxPool2d, which its comments name";

/// A case of images and a window, with or without a stride.
pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(POOL_SUPPORT)?;
    let (kh, kw) = (draw.between(1, 3)?, draw.between(1, 3)?);
    let mut shape = vec![draw.size()?, draw.size()?];
    shape.extend([draw.positive()?.max(kh), draw.positive()?.max(kw)]);
    // Sums of integers must fit their dtype, mostly.
    let small = !dtype.is_float() && !draw.one_in(6)?;
    let x = if small { draw.ids(dtype, &shape, 28)? } else { draw.tensor(dtype, &shape)? };
    let mut case = Case::default().input("x", x).param("kh", kh).param("kw", kw);
    if draw.one_in(3)? {
        case = case.param("sh", draw.between(1, 3)?).param("sw", draw.between(1, 3)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// Kernel and stride.
pub fn kernel_and_stride(case: &Case) -> ((usize, usize), (usize, usize)) {
    let kernel = (case.size("kh"), case.size("kw"));
    if has_stride(case) { (kernel, (case.size("sh"), case.optional_size("sw").unwrap_or(1))) } else { (kernel, kernel) }
}

/// Whether the case has a stride; otherwise the kernel is the stride.
pub fn has_stride(case: &Case) -> bool {
    case.params.contains_key("sh")
}

/// Accepts an output of one element for every window.
pub fn contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if x.shape.len() != 4 {
        return Contract::Rejects(why::RANK);
    }
    let ((kh, kw), (sh, sw)) = kernel_and_stride(case);
    if [kh, kw, sh, sw].contains(&0) {
        return Contract::Rejects("a kernel or stride of 0");
    }
    let (Some(h), Some(w)) = (x.shape[2].checked_sub(kh), x.shape[3].checked_sub(kw)) else {
        return Contract::Rejects("the kernel is larger than the input");
    };
    Contract::accepts(x.dtype, &[x.shape[0], x.shape[1], h / sh + 1, w / sw + 1])
}

/// One output: `f` of the elements of every window of `x`, in row-major order.
pub fn windows(inputs: &ReferenceInputs, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let (x, ((kh, kw), (sh, sw))) = (inputs.array("x"), kernel_and_stride(inputs.case));
    let (h, w) = ((x.shape()[2] - kh) / sh + 1, (x.shape()[3] - kw) / sw + 1);
    vec![ArrayD::from_shape_fn(IxDyn(&[x.shape()[0], x.shape()[1], h, w]), |at| {
        let element = |k: usize| x[[at[0], at[1], at[2] * sh + k / kw, at[3] * sw + k % kw]];
        f(&(0..kh * kw).map(element).collect::<Vec<Num>>())
    })]
}
