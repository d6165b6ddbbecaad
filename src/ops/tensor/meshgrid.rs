//! Grids of two vectors.

use candle_core::Tensor;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `Tensor::meshgrid(&[x, y], xy)`: `x` along one dimension of a matrix, `y` along the other.
pub static MESHGRID: Op = Op {
    name: "tensor.meshgrid",
    covers: &["Tensor::meshgrid"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[InputSpec::new("x", "a vector"), InputSpec::new("y", "a vector").optional()],
    params: &[ParamSpec::flag("xy", false, "Swap the first two dimensions.")],
    generate: &|draw| {
        let dtype = draw.dtype(MESHGRID.support)?;
        let (rows, columns) = (draw.size()?, draw.size()?);
        let (x, y) = (draw.tensor(dtype, &[rows])?, draw.tensor(dtype, &[columns])?);
        let mut case = Case::default().input("x", x).input("y", y).param("xy", draw.between(0, 1)?);
        if draw.one_in(50)? {
            case.inputs.remove("y");
        }
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(y) = case.tensor("y") else { return Contract::Rejects(&rule::ONE_TENSOR) };
        let (&[rows], &[columns]) = (x.shape.as_slice(), y.shape.as_slice()) else {
            return Contract::Rejects(&rule::RANK);
        };
        if x.dtype != y.dtype {
            return Contract::Rejects(&rule::MIXED);
        }
        if rows.checked_mul(columns).is_none_or(|n| n > 1 << 22) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        let shape = if case.int("xy") == 0 { vec![rows, columns] } else { vec![columns, rows] };
        Contract::Accepts { outputs: vec![(x.dtype, shape.clone()), (y.dtype, shape)], refusal: None }
    },
    call: &|call| {
        let tensors: Vec<&Tensor> = [call.optional("x"), call.optional("y")].into_iter().flatten().collect();
        Tensor::meshgrid(&tensors, call.case.int("xy") != 0)
    },
    source: "let outputs = Tensor::meshgrid(&[&x{% if inputs.y %}, &y{% endif %}], {{ xy != 0 }})?;",
    torch: r#"outputs = torch.meshgrid(x{% if inputs.y %}, y{% endif %}, indexing="{{ 'xy' if xy != 0 else 'ij' }}")"#,
    reference: Some(&|inputs| {
        let (x, y) = (inputs.array("x"), inputs.array("y"));
        let of = |pick: &dyn Fn(usize, usize) -> Num| {
            if inputs.case.int("xy") == 0 {
                ArrayD::from_shape_fn(IxDyn(&[x.len(), y.len()]), |at| pick(at[0], at[1]))
            } else {
                ArrayD::from_shape_fn(IxDyn(&[y.len(), x.len()]), |at| pick(at[1], at[0]))
            }
        };
        vec![of(&|row, _| x[[row]]), of(&|_, column| y[[column]])]
    }),
    ulps: 4.0,
    differentiable: &["x", "y"],
    promise: "candle-core/src/tensor.rs:711-775 (its documentation: an Err for less than two tensors); torch.meshgrid",
};
