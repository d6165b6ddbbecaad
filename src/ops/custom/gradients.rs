//! What candle does with the gradients that a caller's op gives, and does not give.

use candle_core::{CpuStorage, CudaStorage, CustomOp1, Layout, Result, Shape, Tensor, Var};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Backward, Case, InputSpec};
use crate::number::Num;
use crate::ops::custom::apply_op::draw_alike;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::elements::nonempty_floats::{nonempty_contract, with_second};
use crate::ops::support::products::custom_ops::Product;
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// An op of a caller without `bwd`.
struct Undifferentiated;

impl CustomOp1 for Undifferentiated {
    fn name(&self) -> &'static str {
        "undifferentiated"
    }

    fn cpu_fwd(&self, x: &CpuStorage, of_x: &Layout) -> Result<(CpuStorage, Shape)> {
        CustomOp1::cpu_fwd(&Product, x, of_x)
    }

    fn cuda_fwd(&self, x: &CudaStorage, of_x: &Layout) -> Result<(CudaStorage, Shape)> {
        CustomOp1::cuda_fwd(&Product, x, of_x)
    }
}

/// `x y + y` by an op whose `bwd` gives none for its last argument: the gradients of `x` and, as first argument of the same op,
/// of `y`. Then whether the last argument alone has one (0), whether `apply_op1_no_bwd` gives one (0), and whether the
/// backward pass of an op without `bwd` is an `Err` (1).
pub static GRADIENTS: Op = Op {
    name: "custom.gradients",
    covers: &["Tensor::apply_op1", "Tensor::apply_op3", "Tensor::apply_op1_no_bwd"],
    support: FLOATS,
    inputs: &[ANY, InputSpec::new("y", "shaped as `x`")],
    params: &[],
    generate: &|draw| Ok(Case { backward: Backward::None, ..draw_alike(draw, 0, &["x", "y"])? }),
    contract: &|case| match nonempty_contract(case, "a product without elements") {
        Contract::Accepts { .. } => with_second(case, "y", (DType::U8, vec![3])),
        other => other,
    },
    call: &|call| {
        let (x, y) = (Var::from_tensor(call.tensor("x")?)?, Var::from_tensor(call.tensor("y")?)?);
        let z = Var::from_tensor(call.tensor("y")?)?;
        let grads = x.apply_op3(&y, &z, Product)?.sum_all()?.backward()?;
        let none = || candle_core::Error::Msg("no gradient".to_string());
        let grad = |of| grads.get(of).map(Tensor::detach).ok_or_else(none);
        let untracked = x.apply_op1_no_bwd(&Product)?.sum_all()?.backward()?;
        let facts = [
            grads.get(&z).is_some(),
            untracked.get(&x).is_some(),
            x.apply_op1(Undifferentiated)?.sum_all()?.backward().is_err(),
        ];
        Ok(vec![grad(&x)?, grad(&y)?, Tensor::new(&facts.map(u8::from), x.device())?])
    },
    source: r#"
        {% set arity = "three" %}
        {% include "product" %}
        impl candle_core::CustomOp1 for Product {
            fn name(&self) -> &'static str {
                "undifferentiated"
            }
            {% for S in ["CpuStorage", "CudaStorage"] %}
            fn {{ S[:-7]|lower }}_fwd(&self, x: &{{ S }}, of_x: &Layout) -> candle_core::Result<({{ S }}, Shape)> {
                Ok((x.affine(of_x, 2.0, 0.0)?, of_x.shape().clone()))
            }
            {% endfor %}
        }
        let (x, y, z) = (Var::from_tensor(&x)?, Var::from_tensor(&y)?, Var::from_tensor(&y)?);
        let grads = x.apply_op3(&y, &z, Product)?.sum_all()?.backward()?;
        let untracked = x.apply_op1_no_bwd(&Product)?.sum_all()?.backward()?;
        let facts = [
            grads.get(&z).is_some(),
            untracked.get(&x).is_some(),
            x.apply_op1(Product)?.sum_all()?.backward().is_err(),
        ];
        let grad = |of: &Var| grads.get(of).expect("a gradient").detach();
        let outputs = [grad(&x), grad(&y), Tensor::new(&facts.map(u8::from), &device)?];
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let facts = [0.0, 0.0, 1.0].map(Num::exact).to_vec();
        // Backward adds gradients to zeros, which may flush subnormals.
        let gradient = |of: &str| inputs.array(of).mapv(|x| x + Num::exact(0.0));
        let facts = ArrayD::from_shape_vec(IxDyn(&[3]), facts).expect("three facts");
        vec![gradient("y"), gradient("x"), facts]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/custom_op.rs:36-43 (`bwd` may give no gradient, and fails by default), 132-164 (\"without \
              backward support\"); torch.autograd.Function: None is no gradient, and `backward` must be given",
};
