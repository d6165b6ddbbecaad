//! Tensors that are made of numbers: constants, ranges, triangles, and values of the host.

use candle_core::{Tensor, WithDType};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::call::{candle, typed};
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support, product};

/// Uploads take every dtype.
const UPLOADED: &Support = &Support::both("dtype", &DType::ALL);
/// Made on the host step by step, and uploaded.
const STEPPED: &Support = &Support::both("dtype", &DType::ALL_BUT_F8);
/// Kernels that fill, and those that also convert.
const FILLED: &Support = &Support { of: "dtype", cpu: &DType::ALL, cuda: &DType::STANDARD };
/// One value everywhere.
const UNIFORM: &Support = &Support { of: "dtype", cpu: &DType::ALL, cuda: &DType::STANDARD_AND_F8 };

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $support:expr, $value:literal;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
    name: concat!("create.", stringify!($function)),
    covers: &[concat!("Tensor::", stringify!($function))],
    support: $support,
    generate: |draw| sized(draw, $support),
    contract: created,
    call: |call| {
                let shape = (call.size("rows", 0), call.size("columns", 0));
                Ok(vec![Tensor::$function(shape, candle(dtype(call.case)), call.device)?])
            },
    source: concat!(
                "Tensor::", stringify!($function),
                "(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?"
            ),
    torch: concat!(
                "torch.", stringify!($function),
                "({{ rows|default(0) }}, {{ columns|default(0) }}, dtype={{ dtype|dtype }})"
            ),
    reference: Some(|inputs| filled(inputs.case, |_, _| $value)),
    ulps: 4.0,
    differentiable: &[],
    promise: CREATED_PROMISE,
};
    )*};
}

constants! {
    /// Zeros of the shape `(rows, columns)`.
    ZEROS = zeros, UPLOADED, 0.0;
    /// Ones.
    ONES = ones, FILLED, 1.0;
}

macro_rules! squares {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $torch:literal, $holds:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
    name: concat!("create.", stringify!($function)),
    covers: &[concat!("Tensor::", stringify!($function))],
    support: FILLED,
    generate: |draw| {
                let case = sized(draw, FILLED)?;
                let size = case.int("rows", 0).min(600);
                Ok(case.param("rows", size).param("columns", size))
            },
    contract: |case| match created(case) {
                created if case.int("rows", 0) == case.int("columns", 0) => created,
                Contract::Accepts { .. } => Contract::Unspecified("no square"),
                _ => Contract::Unspecified(why::TOO_LARGE),
            },
    call: |call| Ok(vec![Tensor::$function(call.size("rows", 0), candle(dtype(call.case)), call.device)?]),
    source: concat!(
                "Tensor::", stringify!($function), "({{ rows|default(0) }}, {{ dtype|dtype }}, &device)?"
            ),
    torch: $torch,
    reference: Some(|inputs| {
                filled(inputs.case, |row: usize, column: usize| if $holds(&row, &column) { 1.0 } else { 0.0 })
            }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:2814-2838 (the documentation of each)",
};
    )*};
}

squares! {
    /// Ones on the diagonal.
    EYE = eye, "torch.eye({{ rows|default(0) }}, dtype={{ dtype|dtype }})", usize::eq;
    /// Ones on the diagonal and below.
    TRIL = tril2, "{% include 'square of ones' %}.tril()", usize::ge;
    /// Ones on the diagonal and above.
    TRIU = triu2, "{% include 'square of ones' %}.triu()", usize::le;
}

/// `Tensor::full(value, (rows, columns), device)`.
pub static FULL: Op = Op {
    name: "create.full",
    covers: &["Tensor::full"],
    support: UNIFORM,
    generate: |draw| {
        let value = *draw.choose(&[0.0, 1.0, 2.0, 7.0, 96.0])?;
        Ok(sized(draw, UNIFORM)?.param("value", value))
    },
    contract: |case| {
        let value = case.float("value", 0.0);
        if dtype(case).round(value) == value { created(case) } else { Contract::Unspecified("another value") }
    },
    call: |call| {
        let (shape, value) = ((call.size("rows", 0), call.size("columns", 0)), call.case.float("value", 0.0));
        Ok(vec![typed!(dtype(call.case), T => Tensor::full(<T as WithDType>::from_f64(value), shape, call.device)?)])
    },
    source: r"
        {% set rows, columns = rows|default(0), columns|default(0) %}
        Tensor::full({{ value|default(0)|of(dtype) }}, ({{ rows }}, {{ columns }}), &device)?
    ",
    torch: r"
        {% set rows, columns = rows|default(0), columns|default(0) %}
        torch.full(({{ rows }}, {{ columns }}), {{ value|default(0)|of(dtype) }}, dtype={{ dtype|dtype }})
    ",
    reference: Some(|inputs| filled(inputs.case, |_, _| inputs.case.float("value", 0.0))),
    ulps: 4.0,
    differentiable: &[],
    promise: CREATED_PROMISE,
};

/// `Tensor::arange_step(start, start + count step, step, device)`; without a param `step`, `arange` with the step 1.
pub static ARANGE: Op = Op {
    name: "create.arange",
    covers: &["Tensor::arange", "Tensor::arange_step"],
    support: STEPPED,
    generate: |draw| {
        let dtype = draw.dtype(STEPPED)?;
        let (start, step) = *draw.choose(&[(0.0, 1.0), (1.0, 1.0), (3.0, 2.0), (8.0, -0.25), (0.0, 0.5)])?;
        let (start, step) = if dtype.is_float() { (start, step) } else { (start, f64::max(step, 1.0)) };
        // Where the values outgrow their precision, or end at the edge of an integer's range.
        let count = match dtype {
            DType::F16 if draw.one_in(8)? => 3000,
            DType::U8 if draw.one_in(4)? => ((255.0 - start) / step) as usize,
            _ => draw.size()?.min(100),
        };
        let end = start + step * count as f64;
        let holds = dtype.round(end) == end;
        let case = Case::default().param("dtype", dtype.name()).param("start", start);
        let case = case.param("end", if holds { end } else { start });
        Ok(if step == 1.0 && draw.one_in(2)? { case } else { case.param("step", step) })
    },
    contract: |case| match range(case) {
        Err(contract) => contract,
        Ok((_, _, count)) => Contract::accepts(dtype(case), &[count]),
    },
    call: |call| {
        let number = |name| call.case.float(name, 0.0);
        let (start, end) = (number("start"), number("end"));
        let step = call.case.params.contains_key("step").then(|| number("step"));
        Ok(vec![typed!(dtype(call.case), T => {
            let number = <T as WithDType>::from_f64;
            match step {
                None => Tensor::arange(number(start), number(end), call.device)?,
                Some(step) => Tensor::arange_step(number(start), number(end), number(step), call.device)?,
            }
        })])
    },
    source: r"
        {% set start, end = start|default(0)|of(dtype), end|default(0)|of(dtype) %}
        {% if step is defined %}
        Tensor::arange_step({{ start }}, {{ end }}, {{ step|of(dtype) }}, &device)?
        {% else %}
        Tensor::arange({{ start }}, {{ end }}, &device)?
        {% endif %}
    ",
    torch: r"
        {% set start, end, step = start|default(0)|of(dtype), end|default(0)|of(dtype), step|default(1)|of(dtype) %}
        torch.arange({{ start }}, {{ end }}, {{ step }}, dtype={{ dtype|dtype }})
    ",
    reference: Some(|inputs| {
        let Ok((start, step, count)) = range(inputs.case) else { return Vec::new() };
        let unit = dtype(inputs.case).unit_roundoff();
        let value = |place: usize| {
            let value = start + step * place as f64;
            // A running sum rounds once per step.
            let exact = dtype(inputs.case).round(value) == value;
            Num { error: if exact { 0.0 } else { unit * value.abs() * place as f64 }, ..Num::exact(value) }
        };
        vec![(0..count).map(value).collect::<ndarray::Array1<Num>>().into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:470-520: the values of [start, end) with the common difference step; torch.arange",
};

/// `Tensor::from_vec`, `from_slice`, `from_iter` or `new` of the values of `x`, as `(rows, ())`, by the param `form`.
pub static FROM_VALUES: Op = Op {
    name: "create.from_values",
    covers: &["Tensor::from_vec", "Tensor::from_slice", "Tensor::from_iter", "Tensor::new"],
    support: &Support::both("x", &DType::ALL),
    generate: |draw| {
        let dtype = draw.dtype(FROM_VALUES.support)?;
        let (rows, columns) = (draw.positive()?, draw.size()?);
        let form = *draw.choose(&["vec", "slice", "iter", "new"])?;
        let case = Case::default().input("x", draw.tensor(dtype, &[rows, columns])?);
        Ok(case.param("rows", rows).param("form", form))
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let count = x.elements().unwrap_or(0);
        if matches!(case.text("form"), "iter" | "new") {
            return Contract::accepts(x.dtype, &[count]);
        }
        match usize::try_from(case.int("rows", 1)).unwrap_or(0) {
            0 => Contract::Unspecified("no rows to fill"),
            rows if count % rows != 0 => Contract::Rejects(why::SHAPES),
            rows => Contract::accepts(x.dtype, &[rows, count / rows]),
        }
    },
    call: |call| {
        let (x, rows) = (call.tensor("x")?, call.size("rows", 1));
        Ok(vec![typed!(crate::ops::tensor::to_dtype::plain(x.dtype()), T => {
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
        Tensor::from_slice(&values, ({{ rows|default(1) }}, ()), &device)?
        {% else %}
        Tensor::from_vec(values, ({{ rows|default(1) }}, ()), &device)?
        {% endif %}
    "#,
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let rows = usize::try_from(inputs.case.int("rows", 1)).unwrap_or(1).max(1);
        let flat = matches!(inputs.case.text("form"), "iter" | "new");
        let shape = if flat { vec![x.len()] } else { vec![rows, x.len() / rows] };
        let values = x.iter().copied().collect();
        vec![ArrayD::from_shape_vec(shape, values).expect("the rows divide the elements")]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:426-590 (the documentation of each), shape.rs (`()` is the hole)",
};

/// `Tensor::meshgrid(&[x, y], xy)`: `x` along one dimension of a matrix, `y` along the other.
pub static MESHGRID: Op = Op {
    name: "tensor.meshgrid",
    covers: &["Tensor::meshgrid"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let dtype = draw.dtype(MESHGRID.support)?;
        let (rows, columns) = (draw.size()?, draw.size()?);
        let (x, y) = (draw.tensor(dtype, &[rows])?, draw.tensor(dtype, &[columns])?);
        let mut case = Case::default().input("x", x).input("y", y).param("xy", draw.between(0, 1)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let (Some(x), Some(y)) = (case.tensor("x"), case.tensor("y")) else { return Contract::Rejects(why::SHAPES) };
        let (&[rows], &[columns]) = (x.shape.as_slice(), y.shape.as_slice()) else {
            return Contract::Rejects(why::RANK);
        };
        if x.dtype != y.dtype {
            return Contract::Unspecified(why::MIXED);
        }
        if rows.checked_mul(columns).is_none_or(|n| n > 1 << 22) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        let shape = if case.int("xy", 0) == 0 { vec![rows, columns] } else { vec![columns, rows] };
        Contract::Accepts { outputs: vec![(x.dtype, shape.clone()), (y.dtype, shape)], refusal: None }
    },
    call: |call| Tensor::meshgrid(&[call.tensor("x")?, call.tensor("y")?], call.case.int("xy", 0) != 0),
    source: "let outputs = Tensor::meshgrid(&[&x, &y], {{ xy|default(0) != 0 }})?;",
    torch: r#"outputs = torch.meshgrid(x, y, indexing="{{ 'xy' if xy|default(0) != 0 else 'ij' }}")"#,
    reference: Some(|inputs| {
        let (x, y) = (inputs.array("x"), inputs.array("y"));
        let of = |pick: &dyn Fn(usize, usize) -> Num| {
            if inputs.case.int("xy", 0) == 0 {
                ArrayD::from_shape_fn(IxDyn(&[x.len(), y.len()]), |at| pick(at[0], at[1]))
            } else {
                ArrayD::from_shape_fn(IxDyn(&[y.len(), x.len()]), |at| pick(at[1], at[0]))
            }
        };
        vec![of(&|row, _| x[[row]]), of(&|_, column| y[[column]])]
    }),
    ulps: 4.0,
    differentiable: &["x", "y"],
    promise: "candle-core/src/tensor.rs:711-775 (its documentation); torch.meshgrid",
};

/// Where the contract of these ops comes from.
pub const CREATED_PROMISE: &str =
    "candle-core/src/tensor.rs:193-460 (the documentation of each); no usize counts more elements than it holds";

/// The dtype that the case names.
pub fn dtype(case: &Case) -> DType {
    DType::named(case.text("dtype")).unwrap_or(DType::F32)
}

/// A dtype and the shape `(rows, columns)`.
pub fn sized(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let (rows, columns) = (draw.size()?, draw.size()?);
    Ok(Case::default().param("dtype", dtype.name()).param("rows", rows).param("columns", columns))
}

/// The shape `(rows, columns)`.
pub fn shape(case: &Case) -> [usize; 2] {
    ["rows", "columns"].map(|name| usize::try_from(case.int(name, 0)).unwrap_or(0))
}

/// Accepted, or too large.
pub fn created(case: &Case) -> Contract {
    let shape = shape(case);
    match product(&shape) {
        // Also where a factor is 0: what the others make of a stride is no number either.
        None => Contract::Rejects("more elements than memory can have"),
        Some(count) if count > 1 << 22 || shape.iter().any(|&n| n > 1 << 31) => Contract::Unspecified(why::TOO_LARGE),
        Some(_) => Contract::accepts(dtype(case), &shape),
    }
}

fn filled(case: &Case, value: impl Fn(usize, usize) -> f64) -> Vec<ArrayD<Num>> {
    let [rows, columns] = shape(case);
    vec![ArrayD::from_shape_fn(IxDyn(&[rows, columns]), |at| Num::exact(value(at[0], at[1])))]
}

/// Start, step and length of a range whose numbers the dtype holds.
fn range(case: &Case) -> Result<(f64, f64, usize), Contract> {
    let (start, end, step) = (case.float("start", 0.0), case.float("end", 0.0), case.float("step", 1.0));
    if step == 0.0 {
        return Err(Contract::Rejects("a step of 0"));
    }
    let count = ((end - start) / step).ceil();
    if count > 65_536.0 {
        return Err(Contract::Unspecified(why::TOO_LARGE));
    }
    if [start, end, step].into_iter().any(|value| !value.is_finite() || dtype(case).round(value) != value) {
        return Err(Contract::Unspecified("a bound that the dtype rounds"));
    }
    if count < 0.0 {
        return Err(Contract::Unspecified("a range backwards"));
    }
    Ok((start, step, count as usize))
}
