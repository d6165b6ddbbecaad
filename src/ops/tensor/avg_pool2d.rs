//! Means of windows of images.

use crate::number::Num;
use crate::ops::support::arguments::{IMAGES, KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_DOWN, STRIDE_RIGHT};
use crate::ops::support::images::pooling::{
    POOL_PROMISE, POOL_SUPPORT, contract, generate, has_stride, kernel_and_stride, windows,
};
use crate::ops::{Contract, Op, why};

/// The mean of every window of `x (N, C, H, W)`.
pub static AVG_POOL2D: Op = Op {
    name: "tensor.avg_pool2d",
    covers: &["Tensor::avg_pool2d", "Tensor::avg_pool2d_with_stride"],
    support: POOL_SUPPORT,
    inputs: &[IMAGES],
    params: &[KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_DOWN, STRIDE_RIGHT],
    generate: &generate,
    contract: &|case| {
        let contract = contract(case);
        let ((kh, kw), _) = kernel_and_stride(case);
        match case.tensor("x").and_then(|x| Some((x, x.dtype.int_range()?))) {
            Some((x, (_, max))) if matches!(contract, Contract::Accepts { .. }) => {
                let largest = x.ints().into_iter().map(i64::unsigned_abs).max().unwrap_or(0);
                let sum = u128::from(largest) * (kh as u128) * (kw as u128);
                if sum > max.unsigned_abs().into() { Contract::Unspecified(why::OVERFLOW) } else { contract }
            }
            _ => contract,
        }
    },
    call: &|call| {
        let (x, (kernel, stride)) = (call.tensor("x")?, kernel_and_stride(call.case));
        Ok(vec![if has_stride(call.case) { x.avg_pool2d_with_stride(kernel, stride)? } else { x.avg_pool2d(kernel)? }])
    },
    source: r#"
        {% set kernel = "(" ~ kh ~ ", " ~ kw ~ ")" %}
        {% if sh is defined %}
        x.avg_pool2d_with_stride({{ kernel }}, ({{ sh }}, {{ sw|default(1) }}))?
        {% else %}
        x.avg_pool2d({{ kernel }})?
        {% endif %}
    "#,
    torch: r#"
        {% set stride = ", stride=(" ~ sh ~ ", " ~ sw|default(1) ~ ")" if sh is defined else "" %}
        F.avg_pool2d(x, ({{ kh }}, {{ kw }}){{ stride }})
    "#,
    reference: Some(&|inputs| {
        let integers = inputs.case.tensor("x").is_some_and(|x| !x.dtype.is_float());
        windows(inputs, |window| {
            let mean = Num::mean(window);
            if !integers {
                return mean;
            }
            // The rounding of means of integers is unspecified: an error of 1 is 4 bounds.
            let exact = mean.value.fract() == 0.0;
            if exact { Num::exact(mean.value) } else { Num { error: 0.25, ..Num::exact(mean.value) } }
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: POOL_PROMISE,
};
