//! Operands on two devices.

use crate::case::{Backward, InputSpec};
use crate::ops::support::arguments::{ANY, ELSEWHERE};
use crate::ops::support::elements::operands::{STANDARD, generate};
use crate::ops::support::other_device::{OBJECTS, is_own_gpu, refused, sent, there};
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::cast;
use crate::tensor::{DType, Support};

/// `x + y` with `y` moved to the other device: an `Err` unless `x` is there too. The output is `x + y` on one device, or on two objects of
/// one GPU.
pub static MIXED_DEVICES: Op = Op {
    name: "relation.mixed_devices",
    covers: &["Tensor::to_device", "Tensor::add"],
    support: KERNELS,
    inputs: &[ANY, InputSpec::new("y", "shaped as `x`, on another device")],
    params: &[ELSEWHERE],
    generate: &|draw| {
        let mut case = generate(draw, STANDARD)?;
        case.params.clear();
        let lhs = case.inputs.remove("lhs").unwrap_or_else(|| unreachable!("a binary case has a left side"));
        case.inputs.clear();
        let floats = cast(&lhs, if lhs.dtype.is_float() { lhs.dtype } else { DType::F32 });
        case.backward = Backward::None;
        sent(draw, case.input("y", floats.contiguous()).input("x", floats), OBJECTS)
    },
    contract: &|case| {
        let (Some(x), Some(y)) = (case.tensor("x"), case.tensor("y")) else { return Contract::Rejects(&rule::SHAPES) };
        if x.shape.contains(&0) || y.shape.contains(&0) {
            return Contract::Unspecified("no element to move");
        }
        if x.shape != y.shape {
            return Contract::Rejects(&rule::SHAPES);
        }
        if x.dtype != y.dtype {
            return Contract::Rejects(&rule::MIXED);
        }
        if let Some((low, high)) = x.dtype.int_range() {
            let range = i128::from(low)..=i128::from(high);
            let is_held = |(x, y): (i64, i64)| range.contains(&(i128::from(x) + i128::from(y)));
            if !x.ints().into_iter().zip(y.ints()).all(is_held) {
                return Contract::Unspecified(why::OVERFLOW);
            }
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: &|call| {
        let (x, y) = (call.tensor("x")?, call.tensor("y")?);
        let there = there(call)?;
        let mixed = x.add(&y.to_device(&there)?);
        if is_own_gpu(call.case) {
            return Ok(vec![mixed?]);
        }
        refused(call, mixed)?;
        Ok(vec![x.add(y)?])
    },
    source: r#"
        {% if to == "again" or to == "own stream" %}
        x.add(&y.to_device({{ there }})?)?
        {% else %}
        {% if cuda %}
        assert!(x.add(&y.to_device({{ there }})?).is_err());
        {% endif %}
        x.add(&y)?
        {% endif %}
    "#,
    // The scripts use one device.
    torch: "",
    reference: Some(&|inputs| pairs(&inputs.array("x"), &inputs.array("y"), |x, y| x + y)),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/storage.rs (same_device): Error::DeviceMismatchBinaryOp; PyTorch expects all tensors on one device, \
              which an index names: `torch.device(\"cuda:0\")` made twice is one",
};

/// The dtypes of kernels that add and copy.
const KERNELS: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
