//! `avg_pool2d` and `max_pool2d`, with and without a stride of their own.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::tensor::conv::size;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// The mean of every window of `x (N, C, H, W)`.
pub static AVG_POOL2D: Op = Op {
    name: "tensor.avg_pool2d",
    covers: &["Tensor::avg_pool2d", "Tensor::avg_pool2d_with_stride"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 },
    generate,
    contract: |case| {
        let contract = contract(case);
        let ((kh, kw), _) = sizes(case);
        match case.tensor("x").and_then(|x| Some((x, x.dtype.int_range()?))) {
            Some((x, (_, max))) if matches!(contract, Contract::Accepts { .. }) => {
                let largest = x.ints().into_iter().map(i64::unsigned_abs).max().unwrap_or(0);
                let sum = u128::from(largest) * (kh as u128) * (kw as u128);
                if sum > max.unsigned_abs().into() { Contract::Unspecified("integer overflow") } else { contract }
            }
            _ => contract,
        }
    },
    call: |call| {
        let (x, (kernel, stride)) = (call.tensor("x")?, sizes(call.case));
        Ok(vec![if strided(call.case) { x.avg_pool2d_with_stride(kernel, stride)? } else { x.avg_pool2d(kernel)? }])
    },
    source: r#"
        {% set kernel = "(" ~ kh|default(1) ~ ", " ~ kw|default(1) ~ ")" %}
        {% if sh is defined %}
        x.avg_pool2d_with_stride({{ kernel }}, ({{ sh }}, {{ sw|default(1) }}))?
        {% else %}
        x.avg_pool2d({{ kernel }})?
        {% endif %}
    "#,
    torch: r#"
        {% set stride = ", stride=(" ~ sh ~ ", " ~ sw|default(1) ~ ")" if sh is defined else "" %}
        F.avg_pool2d(x, ({{ kh|default(1) }}, {{ kw|default(1) }}){{ stride }})
    "#,
    reference: Some(|inputs| {
        let integers = inputs.case.tensor("x").is_some_and(|x| !x.dtype.is_float());
        windows(inputs, |window| {
            let mean = Num::mean(window);
            if !integers {
                return mean;
            }
            // Which way the mean of integers is rounded, nobody says.
            let exact = mean.value.fract() == 0.0;
            if exact { Num::exact(mean.value) } else { Num { peak: f64::INFINITY, ..mean } }
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: POOL_PROMISE,
};

/// The maximum of every window of `x (N, C, H, W)`.
pub static MAX_POOL2D: Op = Op {
    name: "tensor.max_pool2d",
    covers: &["Tensor::max_pool2d", "Tensor::max_pool2d_with_stride"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 },
    generate,
    contract,
    call: |call| {
        let (x, (kernel, stride)) = (call.tensor("x")?, sizes(call.case));
        Ok(vec![if strided(call.case) { x.max_pool2d_with_stride(kernel, stride)? } else { x.max_pool2d(kernel)? }])
    },
    source: r#"
        {% set kernel = "(" ~ kh|default(1) ~ ", " ~ kw|default(1) ~ ")" %}
        {% if sh is defined %}
        x.max_pool2d_with_stride({{ kernel }}, ({{ sh }}, {{ sw|default(1) }}))?
        {% else %}
        x.max_pool2d({{ kernel }})?
        {% endif %}
    "#,
    torch: r#"
        {% set stride = ", stride=(" ~ sh ~ ", " ~ sw|default(1) ~ ")" if sh is defined else "" %}
        F.max_pool2d(x, ({{ kh|default(1) }}, {{ kw|default(1) }}){{ stride }})
    "#,
    reference: Some(|inputs| {
        windows(inputs, |window| window.iter().copied().reduce(Num::max).unwrap_or(Num::exact(f64::NAN)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: POOL_PROMISE,
};

/// Where the contract of these ops comes from.
pub const POOL_PROMISE: &str = "candle-core/src/tensor.rs:1338-1410: the average and the maximum over the window, and the pages of \
              torch.nn.AvgPool2d and torch.nn.MaxPool2d, to which its comments point";
/// The dtypes of these ops.
pub const POOL_SUPPORT: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 };

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
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
fn sizes(case: &Case) -> ((usize, usize), (usize, usize)) {
    let kernel = (size(case, "kh", 1), size(case, "kw", 1));
    if strided(case) { (kernel, (size(case, "sh", 1), size(case, "sw", 1))) } else { (kernel, kernel) }
}

fn strided(case: &Case) -> bool {
    case.params.contains_key("sh")
}

fn contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if x.shape.len() != 4 {
        return Contract::Rejects(why::RANK);
    }
    let ((kh, kw), (sh, sw)) = sizes(case);
    if [kh, kw, sh, sw].contains(&0) {
        return Contract::Rejects("a kernel or stride of 0");
    }
    let (Some(h), Some(w)) = (x.shape[2].checked_sub(kh), x.shape[3].checked_sub(kw)) else {
        return Contract::Rejects("the kernel is larger than the input");
    };
    Contract::accepts(x.dtype, &[x.shape[0], x.shape[1], h / sh + 1, w / sw + 1])
}

/// `of` every window, in row-major order.
fn windows(inputs: &ReferenceInputs, of: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let (kernel, stride) = sizes(inputs.case);
    vec![pooled(&inputs.array("x"), kernel, stride, of)]
}

/// `of` every window of `x`, in row-major order.
pub fn pooled(
    x: &ArrayD<Num>,
    (kh, kw): (usize, usize),
    (sh, sw): (usize, usize),
    of: impl Fn(&[Num]) -> Num,
) -> ArrayD<Num> {
    let (h, w) = ((x.shape()[2] - kh) / sh + 1, (x.shape()[3] - kw) / sw + 1);
    ArrayD::from_shape_fn(IxDyn(&[x.shape()[0], x.shape()[1], h, w]), |place| {
        let window: Vec<Num> =
            (0..kh * kw).map(|at| x[[place[0], place[1], place[2] * sh + at / kw, place[3] * sw + at % kw]]).collect();
        of(&window)
    })
}
