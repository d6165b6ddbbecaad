//! The functions that make a `Var`.

use candle_core::{DType as Candle, Var};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

const FORMS: &[&str] =
    &["zeros", "ones", "new", "from_vec", "from_slice", "rand", "randn", "rand_f64", "randn_f64", "into_inner"];

/// Makes a variable of two elements by the function `form`: whether it is a variable, and whether it gets a gradient.
pub static VAR: Op = Op {
    name: "create.var",
    covers: &[
        "Var::zeros",
        "Var::ones",
        "Var::new",
        "Var::from_vec",
        "Var::from_slice",
        "Var::rand",
        "Var::randn",
        "Var::into_inner",
    ],
    // Nothing depends on the dtype of a case.
    support: &Support::both("", &DType::ALL),
    inputs: &[],
    params: &[ParamSpec::word("form", FORMS, "The function; `into_inner` takes the tensor out of `Var::zeros`.")],
    generate: &|draw| Ok(Case::default().param("form", *draw.choose(FORMS)?)),
    contract: &|_| Contract::accepts(DType::U8, &[2]),
    call: &|call| {
        let (device, values) = (call.device, [0f32, 1.0]);
        let var = match call.case.text("form") {
            "ones" => Var::ones(2, Candle::F32, device)?,
            "new" => Var::new(&values, device)?,
            "from_vec" => Var::from_vec(values.to_vec(), 2, device)?,
            "from_slice" => Var::from_slice(&values, 2, device)?,
            "rand" => Var::rand(0f32, 1.0, 2, device)?,
            "randn" => Var::randn(0f32, 1.0, 2, device)?,
            "rand_f64" => Var::rand_f64(0.0, 1.0, 2, Candle::F32, device)?,
            "randn_f64" => Var::randn_f64(0.0, 1.0, 2, Candle::F32, device)?,
            _ => Var::zeros(2, Candle::F32, device)?,
        };
        let tensor =
            if call.case.text("form") == "into_inner" { var.clone().into_inner() } else { var.as_tensor().clone() };
        let found = (&tensor * 2.0)?.sum_all()?.backward()?.get(&var).is_some();
        let facts = [tensor.is_variable(), found].map(u8::from);
        Ok(vec![candle_core::Tensor::new(&facts, device)?])
    },
    source: r#"
        {% set arguments = {
            "new": "&[0f32, 1.0], &device",
            "from_vec": "vec![0f32, 1.0], 2, &device",
            "from_slice": "&[0f32, 1.0], 2, &device",
            "rand": "0f32, 1f32, 2, &device",
            "randn": "0f32, 1f32, 2, &device",
            "rand_f64": "0.0, 1.0, 2, DType::F32, &device",
            "randn_f64": "0.0, 1.0, 2, DType::F32, &device",
        }[form]|default("2, DType::F32, &device") %}
        let var = Var::{{ "zeros" if form == "into_inner" else form }}({{ arguments }})?;
        let tensor = {{ "var.clone().into_inner()" if form == "into_inner" else "var.as_tensor().clone()" }};
        let found = (&tensor * 2.0)?.sum_all()?.backward()?.get(&var).is_some();
        Tensor::new(&[u8::from(tensor.is_variable()), u8::from(found)], &device)?
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|_| vec![ArrayD::from_elem(IxDyn(&[2]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/variable.rs:1-4, 27-126 (candle's documentation alone): the tensor of a variable has \
              `is_variable` set",
};
