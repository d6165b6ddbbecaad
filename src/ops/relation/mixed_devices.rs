//! Operands on two devices.

use crate::case::{Backward, InputSpec};
use crate::ops::support::arguments::{ANY, ELSEWHERE};
use crate::ops::support::elements::operands::{STANDARD, generate};
use crate::ops::support::reference_inputs::pairs;
use crate::ops::support::second_device::{refused, sent, there};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::cast;
use crate::tensor::{DType, Support};

/// `x + y` with `y` moved to the CPU or, by the param `to`, to the second device: an `Err` unless `x` is there too. The
/// output is `x + y` on one device.
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
        sent(draw, case.input("y", floats.contiguous()).input("x", floats))
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
        refused(call, x.add(&y.to_device(&there(call)?)?))?;
        Ok(vec![x.add(y)?])
    },
    source: r"
        {% if cuda %}
        assert!(x.add(&y.to_device({{ there }})?).is_err());
        {% endif %}
        x.add(&y)?
    ",
    // The scripts use one device.
    torch: "",
    reference: Some(&|inputs| pairs(&inputs.array("x"), &inputs.array("y"), |x, y| x + y)),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/storage.rs (same_device): Error::DeviceMismatchBinaryOp; PyTorch expects all tensors on one device",
};

/// The dtypes of kernels that add and copy.
const KERNELS: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
