//! Copies to the host as vectors.

use candle_core::{Device, Tensor};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::call::{dtype_of, typed};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// The values of `x` on the host: `to_vec0` (and `to_scalar`) to `to_vec3` by the param `form`, and uploaded again.
pub static TO_VEC: Op = Op {
    name: "tensor.to_vec",
    covers: &["Tensor::to_scalar", "Tensor::to_vec0", "Tensor::to_vec1", "Tensor::to_vec2", "Tensor::to_vec3"],
    support: COPIED,
    inputs: &[ANY],
    params: &[ParamSpec::word("form", &["scalar", "vec0", "vec1", "vec2", "vec3"], "The method.")],
    generate: &|draw| {
        let form = *draw.choose(&["scalar", "vec0", "vec1", "vec2", "vec3"])?;
        let dtype = draw.dtype(COPIED)?;
        let shape = draw.shape(rank(form), rank(form))?;
        Ok(Case::default().input("x", draw.tensor(dtype, &shape)?).param("form", form))
    },
    contract: &|case| match case.tensor("x") {
        Some(x) if x.shape.len() != rank(case.text("form")) => Contract::Rejects(&rule::RANK),
        Some(x) => Contract::accepts(x.dtype, &[x.elements().unwrap_or(0)]),
        None => Contract::Rejects(&rule::SHAPES),
    },
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![typed!(dtype_of(x), T => {
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
    // PyTorch has one call for all ranks.
    torch: "",
    reference: Some(&|inputs| {
        let values = inputs.array("x").iter().copied().collect::<ndarray::Array1<Num>>();
        vec![values.into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:662-687, 1957-2052 (the documentation of each); torch.Tensor.tolist",
};

/// Memory is copied in every dtype.
const COPIED: &Support = &Support::both("x", &DType::ALL);

/// The rank of the tensor that the form of the call takes.
fn rank(form: &str) -> usize {
    match form {
        "vec1" => 1,
        "vec2" => 2,
        "vec3" => 3,
        _ => 0,
    }
}
