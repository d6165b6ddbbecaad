//! Copies: between host and device, of views, and in place.

use candle_core::scalar::Scalar;
use candle_core::{Device, Tensor, WithDType};

use crate::case::{Backward, Case};
use crate::number::Num;
use crate::ops::support::call::typed;
use crate::ops::support::reference_inputs::each;
use crate::ops::support::second_device::{refused, sent, there};
use crate::ops::tensor::to_dtype::plain;
use crate::ops::tensor::unary::{case, elementwise};
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support};

/// Memory is copied in every dtype; a strided copy, which reading any view is, and a fill need a kernel.
const BYTES: &Support = &Support::both("x", &DType::ALL);
const KERNELS: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// `x` to the host or, by the param `to`, to the second device, and back.
pub static TO_DEVICE: Op = Op {
    name: "tensor.to_device",
    covers: &["Tensor::to_device"],
    support: BYTES,
    generate: |draw| {
        let case = case(draw, BYTES)?;
        sent(draw, case)
    },
    contract: elementwise,
    call: |call| Ok(vec![call.tensor("x")?.to_device(&there(call)?)?.to_device(call.device)?]),
    source: "x.to_device({{ there }})?.to_device(&device)?",
    torch: "",
    reference: Some(|inputs| each(inputs, "x", |x| x)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2515 (the documentation of each)",
};

/// `x.detach()`: the same values, without a gradient.
pub static DETACH: Op = Op {
    name: "tensor.detach",
    covers: &["Tensor::detach"],
    support: BYTES,
    generate: |draw| case(draw, BYTES),
    contract: elementwise,
    call: |call| Ok(vec![call.tensor("x")?.detach()]),
    source: "x.detach()",
    torch: "x.detach()",
    reference: Some(|inputs| each(inputs, "x", |x| x)),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:2357-2515 (the documentation of each)",
};

/// The values of `x` on the host: `to_vec0` (and `to_scalar`) to `to_vec3` by the param `form`, and uploaded again.
pub static TO_VEC: Op = Op {
    name: "tensor.to_vec",
    covers: &["Tensor::to_scalar", "Tensor::to_vec0", "Tensor::to_vec1", "Tensor::to_vec2", "Tensor::to_vec3"],
    support: BYTES,
    generate: |draw| {
        let form = *draw.choose(&["scalar", "vec0", "vec1", "vec2", "vec3"])?;
        let dtype = draw.dtype(BYTES)?;
        let shape = draw.shape(rank(form), rank(form))?;
        Ok(Case::default().input("x", draw.tensor(dtype, &shape)?).param("form", form))
    },
    contract: |case| match case.tensor("x") {
        Some(x) if x.shape.len() != rank(case.text("form")) => Contract::Rejects(why::RANK),
        Some(x) => Contract::accepts(x.dtype, &[x.elements().unwrap_or(0)]),
        None => Contract::Rejects(why::SHAPES),
    },
    call: |call| {
        let x = call.tensor("x")?;
        Ok(vec![typed!(plain(x.dtype()), T => {
            let values: Vec<T> = match call.case.text("form") {
                "vec0" => vec![x.to_vec0()?],
                "vec1" => x.to_vec1()?,
                "vec2" => x.to_vec2()?.concat(),
                "vec3" => x.to_vec3()?.concat().concat(),
                _ => vec![x.to_scalar()?],
            };
            Tensor::new(values, &Device::Cpu)?
        })])
    },
    source: r#"
        {% set T = inputs.x.rust %}
        {% if form == "vec1" %}
        let values = x.to_vec1::<{{ T }}>()?;
        {% elif form == "vec2" %}
        let values = x.to_vec2::<{{ T }}>()?.concat();
        {% elif form == "vec3" %}
        let values = x.to_vec3::<{{ T }}>()?.concat().concat();
        {% else %}
        let values = vec![x.to_{{ "vec0" if form == "vec0" else "scalar" }}::<{{ T }}>()?];
        {% endif %}
        Tensor::new(values, &Device::Cpu)?
    "#,
    torch: "",
    reference: Some(|inputs| {
        let values = inputs.array("x").iter().copied().collect::<ndarray::Array1<Num>>();
        vec![values.into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:662-687, 1957-2052 (the documentation of each)",
};

/// `zeros_like`, `ones_like` of `x`, by the param `form`.
pub static LIKE: Op = Op {
    name: "create.like",
    covers: &["Tensor::zeros_like", "Tensor::ones_like"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_AND_F8 },
    generate: |draw| filling(draw, &["zeros", "ones"]),
    contract: elementwise,
    call: |call| {
        let x = call.tensor("x")?;
        Ok(vec![if call.case.text("form") == "ones" { x.ones_like()? } else { x.zeros_like()? }])
    },
    source: "x.{{ 'ones' if form == 'ones' else 'zeros' }}_like()?",
    torch: "torch.{{ 'ones' if form == 'ones' else 'zeros' }}_like(x)",
    reference: Some(|inputs| {
        let value = if inputs.case.text("form") == "ones" { 1.0 } else { 0.0 };
        each(inputs, "x", |_| Num::exact(value))
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:221-273 (the documentation of each)",
};

/// `zero_set`, `one_set`, or `const_set` to 2, in place, by the param `form`: every element of the view `x`, and of what
/// lies around it nothing.
pub static CONST_SET: Op = Op {
    name: "tensor.const_set",
    covers: &["Tensor::const_set", "Tensor::zero_set", "Tensor::one_set"],
    support: KERNELS,
    generate: |draw| filling(draw, &["const", "zero", "one"]),
    contract: |case| match elementwise(case) {
        Contract::Accepts { outputs, refusal } => {
            Contract::Accepts { outputs: outputs.iter().cycle().take(2).cloned().collect(), refusal }
        }
        other => other,
    },
    call: |call| {
        let x = call.tensor("x")?;
        // The other half shares the storage and must keep its values.
        let both = Tensor::stack(&[x, x], 0)?;
        let (set, kept) = (both.get(0)?, both.get(1)?);
        let set = if x.is_contiguous() { set } else { x.clone() };
        match call.case.text("form") {
            "zero" => set.zero_set()?,
            "one" => set.one_set()?,
            _ => set.const_set(typed!(plain(x.dtype()), T => Scalar::from(<T as WithDType>::from_f64(2.0))))?,
        }
        Ok(vec![set, kept])
    },
    source: r#"
        // The other half shares the storage and must keep its values.
        let both = Tensor::stack(&[&x, &x], 0)?;
        let set = if x.is_contiguous() { both.get(0)? } else { x };
        {% if form == "zero" %}
        set.zero_set()?;
        {% elif form == "one" %}
        set.one_set()?;
        {% else %}
        set.const_set({{ 2|of(inputs.x.rust) }}.into())?;
        {% endif %}
        let outputs = [set, both.get(1)?];
    "#,
    torch: "",
    reference: Some(|inputs| {
        let value = match inputs.case.text("form") {
            "zero" => 0.0,
            "one" => 1.0,
            _ => 2.0,
        };
        let x = inputs.array("x");
        vec![x.mapv(|_| Num::exact(value)), x]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:209-219: the elements that the layout names",
};

/// `x + y` with `y` moved to the CPU or, by the param `to`, to the second device. On another device than `x` that must be an
/// `Err`, and `x + y` on one device is returned.
pub static MIXED_DEVICES: Op = Op {
    name: "relation.mixed_devices",
    covers: &["Tensor::to_device", "Tensor::add"],
    support: KERNELS,
    generate: |draw| {
        let mut case = crate::ops::tensor::binary::generate(draw, crate::ops::tensor::binary::STANDARD)?;
        case.params.clear();
        let lhs = case.inputs.remove("lhs").unwrap_or_else(|| unreachable!("a binary case has a left side"));
        case.inputs.clear();
        let floats = crate::mutate::cast(&lhs, if lhs.dtype.is_float() { lhs.dtype } else { DType::F32 });
        case.backward = Backward::None;
        sent(draw, case.input("y", floats.contiguous()).input("x", floats))
    },
    contract: |case| {
        let (Some(x), Some(y)) = (case.tensor("x"), case.tensor("y")) else { return Contract::Rejects(why::SHAPES) };
        if x.shape.contains(&0) || y.shape.contains(&0) {
            return Contract::Unspecified("no element to move");
        }
        if x.shape != y.shape {
            return Contract::Rejects(why::SHAPES);
        }
        if x.dtype != y.dtype {
            return Contract::Rejects(why::MIXED);
        }
        if !x.dtype.is_float() {
            return Contract::Unspecified("integer overflow");
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: |call| {
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
    torch: "",
    reference: Some(|inputs| {
        crate::ops::support::reference_inputs::pairs(&inputs.array("x"), &inputs.array("y"), |x, y| x + y)
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/storage.rs (same_device): Error::DeviceMismatchBinaryOp",
};

fn rank(form: &str) -> usize {
    match form {
        "vec1" => 1,
        "vec2" => 2,
        "vec3" => 3,
        _ => 0,
    }
}

fn filling(draw: &mut crate::generate::Draw, forms: &[&'static str]) -> arbitrary::Result<Case> {
    let mut case = case(draw, KERNELS)?;
    case.backward = Backward::None;
    let form = *draw.choose(forms)?;
    Ok(case.param("form", form))
}
