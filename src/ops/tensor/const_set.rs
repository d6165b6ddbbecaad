//! Filling in place.

use candle_core::scalar::Scalar;
use candle_core::{Tensor, WithDType};

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::call::{dtype_of, typed};
use crate::ops::support::elements::elementwise::{case_in_form, elementwise};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `zero_set`, `one_set`, or `const_set` to 2, in place, by the param `form`: every element of the view `x`, and nothing
/// around it.
pub static CONST_SET: Op = Op {
    name: "tensor.const_set",
    covers: &["Tensor::const_set", "Tensor::zero_set", "Tensor::one_set"],
    support: KERNELS,
    inputs: &[ANY],
    params: &[ParamSpec::word("form", &["const", "zero", "one"], "The method.")],
    generate: &|draw| case_in_form(draw, KERNELS, &["const", "zero", "one"]),
    contract: &|case| match elementwise(case) {
        Contract::Accepts { outputs, refusal } => {
            Contract::Accepts { outputs: outputs.iter().cycle().take(2).cloned().collect(), refusal }
        }
        other => other,
    },
    call: &|call| {
        let x = call.tensor("x")?;
        // The other half shares the storage and must keep its values.
        let both = Tensor::stack(&[x, x], 0)?;
        let (set, kept) = (both.get(0)?, both.get(1)?);
        let set = if x.is_contiguous() { set } else { x.clone() };
        match call.case.text("form") {
            "zero" => set.zero_set()?,
            "one" => set.one_set()?,
            _ => set.const_set(typed!(dtype_of(x), T => Scalar::from(<T as WithDType>::from_f64(2.0))))?,
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
    torch: "
        kept = x.clone()
        x.fill_({{ {'zero': 0, 'one': 1}[form]|default(2) }})
        outputs = [x, kept]
    ",
    reference: Some(&|inputs| {
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
    promise: "candle-core/src/tensor.rs:209-219: the elements that the layout names; torch.Tensor.fill_",
};

/// The dtypes of kernels that fill.
const KERNELS: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
