//! A caller's op in place, of tensors that share storage.

use candle_core::Tensor;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Backward, Case};
use crate::number::Num;
use crate::ops::custom::apply_op::draw_alike;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::elements::nonempty_floats::nonempty_contract;
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::support::products::custom_ops::Product;
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// Whether candle refuses to run ops in place of `x` with itself or with another view of its storage, then `x`, which must be
/// unchanged, and a copy of `x` after `inplace_op3` with `x` as both other arguments: `x x + x`.
pub static INPLACE_SHARED: Op = Op {
    name: "custom.inplace_shared",
    covers: &["Tensor::inplace_op2", "Tensor::inplace_op3"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| Ok(Case { backward: Backward::None, ..draw_alike(draw, 1, &["x"])? }),
    contract: &|case| match nonempty_contract(case, "an empty part") {
        Contract::Accepts { .. } if shape_of(case).is_empty() => Contract::Unspecified("a part of a scalar"),
        Contract::Accepts { outputs, refusal } => {
            let like = outputs[0].clone();
            Contract::Accepts { outputs: vec![(DType::U8, vec![3]), like.clone(), like], refusal }
        }
        other => other,
    },
    call: &|call| {
        let x = call.tensor("x")?.force_contiguous()?;
        let both = Tensor::stack(&[&x, &x], 0)?;
        let (first, second) = (both.get(0)?, both.get(1)?);
        let refused = [
            first.inplace_op2(&first, &Product).is_err(),
            first.inplace_op2(&second, &Product).is_err(),
            first.inplace_op3(&x, &first, &Product).is_err(),
        ];
        let own = x.copy()?;
        own.inplace_op3(&x, &x, &Product)?;
        Ok(vec![Tensor::new(&refused.map(u8::from), x.device())?, first, own])
    },
    source: r#"
        {% set arity = "three" %}
        {% include "product in place" %}
        impl candle_core::InplaceOp2 for Product {
            fn name(&self) -> &'static str {
                "product"
            }
            {% for S in ["CpuStorage", "CudaStorage"] %}
            fn {{ S[:-7]|lower }}_fwd(&self, x: &mut {{ S }}, of_x: &Layout, y: &{{ S }}, of_y: &Layout) -> candle_core::Result<()> {
                product(x, of_x, y, of_y, y, of_y)
            }
            {% endfor %}
        }
        let x = x.force_contiguous()?;
        let both = Tensor::stack(&[&x, &x], 0)?;
        let (first, second) = (both.get(0)?, both.get(1)?);
        let refused = [
            first.inplace_op2(&first, &Product).is_err(),
            first.inplace_op2(&second, &Product).is_err(),
            first.inplace_op3(&x, &first, &Product).is_err(),
        ];
        let own = x.copy()?;
        own.inplace_op3(&x, &x, &Product)?;
        let outputs = [Tensor::new(&refused.map(u8::from), &device)?, first, own];
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let refused = ArrayD::from_elem(IxDyn(&[3]), Num::exact(1.0));
        vec![refused, x.clone(), x.mapv(|x| x * x + x)]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/custom_op.rs:199-203 (an op without an access pattern \"rejects all in-place source \
              aliasing\"), 595-657; PyTorch rejects the overlaps that it finds",
};
