//! Maxima of windows of images.

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::{IMAGES, KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_DOWN, STRIDE_RIGHT};
use crate::ops::support::images::pooling::{
    POOL_PROMISE, POOL_SUPPORT, contract, generate, has_stride, kernel_and_stride, windows,
};

/// The maximum of every window of `x (N, C, H, W)`.
pub static MAX_POOL2D: Op = Op {
    name: "tensor.max_pool2d",
    covers: &["Tensor::max_pool2d", "Tensor::max_pool2d_with_stride"],
    support: POOL_SUPPORT,
    inputs: &[IMAGES],
    params: &[KERNEL_HEIGHT, KERNEL_WIDTH, STRIDE_DOWN, STRIDE_RIGHT],
    generate: &generate,
    contract: &contract,
    call: &|call| {
        let (x, (kernel, stride)) = (call.tensor("x")?, kernel_and_stride(call.case));
        Ok(vec![if has_stride(call.case) { x.max_pool2d_with_stride(kernel, stride)? } else { x.max_pool2d(kernel)? }])
    },
    source: r#"
        {% set kernel = "(" ~ kh ~ ", " ~ kw ~ ")" %}
        {% if sh is defined %}
        x.max_pool2d_with_stride({{ kernel }}, ({{ sh }}, {{ sw|default(1) }}))?
        {% else %}
        x.max_pool2d({{ kernel }})?
        {% endif %}
    "#,
    torch: r#"
        {% set stride = ", stride=(" ~ sh ~ ", " ~ sw|default(1) ~ ")" if sh is defined else "" %}
        F.max_pool2d(x, ({{ kh }}, {{ kw }}){{ stride }})
    "#,
    reference: Some(&|inputs| {
        windows(inputs, |window| window.iter().copied().reduce(Num::max).unwrap_or(Num::exact(f64::NAN)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: POOL_PROMISE,
};
