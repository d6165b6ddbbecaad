//! Tensors of values of the host.

use candle_core::Tensor;
use ndarray::ArrayD;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::call::{dtype_of, typed};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `Tensor::from_vec`, `from_slice`, `from_iter` or `new` of the values of `x`, as `(rows, ())`, by the param `form`.
pub static FROM_VALUES: Op = Op {
    name: "create.from_values",
    covers: &["Tensor::from_vec", "Tensor::from_slice", "Tensor::from_iter", "Tensor::new"],
    support: &Support::both("x", &DType::ALL),
    inputs: &[InputSpec::new("x", "a matrix: the values to upload")],
    params: &[
        ParamSpec::word("form", &["vec", "slice", "iter", "new"], "The constructor."),
        ParamSpec::size("rows", 1, "The number of rows."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(FROM_VALUES.support)?;
        let (rows, columns) = (draw.positive()?, draw.size()?);
        let form = *draw.choose(&["vec", "slice", "iter", "new"])?;
        let case = Case::default().input("x", draw.tensor(dtype, &[rows, columns])?);
        Ok(case.param("rows", rows).param("form", form))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let count = x.elements().unwrap_or(0);
        if matches!(case.text("form"), "iter" | "new") {
            return Contract::accepts(x.dtype, &[count]);
        }
        match case.size("rows") {
            0 => Contract::Rejects(&rule::HOLE),
            rows if count % rows != 0 => Contract::Rejects(&rule::SHAPES),
            // No library has a tensor of more rows.
            rows if rows > isize::MAX as usize => TOO_LARGE,
            rows => Contract::accepts(x.dtype, &[rows, count / rows]),
        }
    },
    call: &|call| {
        let (x, rows) = (call.tensor("x")?, call.size("rows"));
        Ok(vec![typed!(dtype_of(x), T => {
            let values: Vec<T> = x.to_device(&candle_core::Device::Cpu)?.flatten_all()?.to_vec1()?;
            match call.case.text("form") {
                "iter" => Tensor::from_iter(values, call.device)?,
                "new" => Tensor::new(values, call.device)?,
                "slice" => Tensor::from_slice(&values, (rows, ()), call.device)?,
                _ => Tensor::from_vec(values, (rows, ()), call.device)?,
            }
        })])
    },
    source: r#"
        let values = x{{ to_host }}.flatten_all()?.to_vec1::<{{ inputs.x.rust }}>()?;
        {% if form in ["iter", "new"] %}
        Tensor::{{ "from_iter" if form == "iter" else "new" }}(values, &device)?
        {% elif form == "slice" %}
        Tensor::from_slice(&values, ({{ rows }}, ()), &device)?
        {% else %}
        Tensor::from_vec(values, ({{ rows }}, ()), &device)?
        {% endif %}
    "#,
    // PyTorch has one constructor for all of these.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let rows = inputs.case.size("rows").max(1);
        let flat = matches!(inputs.case.text("form"), "iter" | "new");
        let shape = if flat { vec![x.len()] } else { vec![rows, x.len() / rows] };
        let values = x.iter().copied().collect();
        vec![ArrayD::from_shape_vec(shape, values).expect("the rows divide the elements")]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:426-590 (the documentation of each), shape.rs (`()` is the hole, the -1 of \
              torch.reshape); torch.tensor",
};
