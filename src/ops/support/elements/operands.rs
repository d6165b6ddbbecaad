//! Cases of functions of two tensors, `lhs` and `rhs`, or of a tensor and a number.

use candle_core::{Result, Tensor};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::broadcast_shape;
use crate::ops::{Call, Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, product};

/// The dtypes of functions with kernels for integers and floats.
pub const STANDARD: &Support = &Support { of: "lhs", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// Two tensors of one dtype and shape, or with `form = "broadcast"` of shapes that fit.
pub fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let shape = draw.any_shape()?;
    let (mut lhs, mut rhs) = (shape.clone(), shape.clone());
    let broadcasts = draw.one_in(2)?;
    if broadcasts {
        for shape in [&mut lhs, &mut rhs] {
            if draw.one_in(2)? {
                shape.drain(..draw.between(0, shape.len())?);
            }
        }
        for (dim, _) in shape.iter().enumerate() {
            let side = if draw.one_in(2)? { &mut lhs } else { &mut rhs };
            if draw.one_in(2)? && dim < side.len() {
                side[dim] = 1;
            }
        }
    }
    let case = Case::default().input("lhs", draw.tensor(dtype, &lhs)?).input("rhs", draw.tensor(dtype, &rhs)?);
    let mut case = if broadcasts { case.param("form", "broadcast") } else { case };
    case.backward = draw.backward()?;
    Ok(case)
}

/// A case of [`generate`], or with `form = "scalar"` one of a tensor and one of these numbers.
pub fn with_scalar(draw: &mut Draw, scalars: &[f64]) -> arbitrary::Result<Case> {
    let mut case = generate(draw, STANDARD)?;
    if draw.one_in(3)? {
        case.inputs.remove("rhs");
        case = case.param("form", "scalar").param("scalar", *draw.choose(scalars)?);
    }
    Ok(case)
}

/// The number on the right side, if the case has one there.
pub fn scalar(case: &Case) -> Option<f64> {
    (case.text("form") == "scalar").then(|| case.float("scalar"))
}

/// Whether the broadcasting form is called.
pub fn broadcasts(case: &Case) -> bool {
    case.text("form") == "broadcast"
}

/// Both tensors.
pub fn operands<'a>(call: &'a Call) -> Result<(&'a Tensor, &'a Tensor)> {
    Ok((call.tensor("lhs")?, call.tensor("rhs")?))
}

/// Both sides in `f64`; a number on the right as an argument of the dtype of the left.
pub fn sides(inputs: &ReferenceInputs) -> (ArrayD<Num>, ArrayD<Num>) {
    let lhs = inputs.array("lhs");
    let unit = lhs.first().map_or(0.0, |element| element.unit);
    let number = |scalar| ArrayD::from_elem(IxDyn(&[]), Num::argument(scalar, unit));
    let rhs = scalar(inputs.case).map_or_else(|| inputs.array("rhs"), number);
    (lhs, rhs)
}

/// The shape of the result; as an `Err` the contract where the sides do not fit.
pub fn output_shape(case: &Case) -> std::result::Result<Vec<usize>, Contract> {
    let Some(lhs) = case.tensor("lhs") else { return Err(Contract::Rejects(&rule::SHAPES)) };
    if scalar(case).is_some() {
        return Ok(lhs.shape.clone());
    }
    let Some(rhs) = case.tensor("rhs") else { return Err(Contract::Rejects(&rule::SHAPES)) };
    let shape = if broadcasts(case) {
        broadcast_shape(&lhs.shape, &rhs.shape)
    } else {
        (lhs.shape == rhs.shape).then(|| lhs.shape.clone())
    };
    let Some(shape) = shape else { return Err(Contract::Rejects(&rule::SHAPES)) };
    if lhs.dtype != rhs.dtype {
        let empty = shape.contains(&0);
        return Err(if empty { Contract::Unspecified(rule::MIXED.id) } else { Contract::Rejects(&rule::MIXED) });
    }
    if product(&shape).is_none_or(|n| n > 1 << 22) {
        return Err(Contract::Unspecified(why::TOO_LARGE));
    }
    Ok(shape)
}
