//! Cases of float tensors of one shape, drawn with elements.

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::{Contract, why};
use crate::tensor::{DType, Support};

/// The dtypes of these cases.
pub const FLOATS: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// A case with inputs of these names and one drawn shape.
pub fn draw_floats(draw: &mut Draw, names: &[&str]) -> arbitrary::Result<Case> {
    let mut shape = draw.open_shape(0, 3)?;
    shape.push(1);
    for n in &mut shape {
        *n = (*n).max(1);
    }
    floats_of(draw, names, &shape)
}

/// A case with inputs of these names and this shape.
pub fn floats_of(draw: &mut Draw, names: &[&str], shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(FLOATS)?;
    let mut case = Case::default();
    for name in names {
        case = case.input(name, draw.tensor(dtype, shape)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// Accepts floats, for one output like `x`.
pub fn float_contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if let Some((_, largest)) = x.dtype.int_range() {
        let overflows = x.floats().iter().map(|x| x * x).sum::<f64>() > largest as f64;
        let nothing = Contract::Unspecified("gradients of integers");
        return if overflows { Contract::Unspecified(why::OVERFLOW) } else { nothing };
    }
    Contract::accepts(x.dtype, &x.shape)
}

/// Accepts floats with elements, for one output like `x`. Without elements the result is not specified, for the reason `empty`.
pub fn nonempty_contract(case: &Case, empty: &'static str) -> Contract {
    let is_empty = case.tensor("x").is_some_and(|x| x.shape.contains(&0));
    match float_contract(case) {
        Contract::Accepts { .. } if is_empty => Contract::Unspecified(empty),
        other => other,
    }
}

/// Accepts a second input that is like `x`, for two outputs like `x` and a last one.
pub fn with_second(case: &Case, name: &str, last: (DType, Vec<usize>)) -> Contract {
    let (Contract::Accepts { outputs, refusal }, Some(x)) = (float_contract(case), case.tensor("x")) else {
        return float_contract(case);
    };
    let Some(other) = case.tensor(name) else { return Contract::Rejects(why::SHAPES) };
    if other.shape != x.shape {
        return Contract::Rejects(why::SHAPES);
    }
    if other.dtype != x.dtype {
        return Contract::Rejects(why::MIXED);
    }
    Contract::Accepts { outputs: vec![outputs[0].clone(), outputs[0].clone(), last], refusal }
}
