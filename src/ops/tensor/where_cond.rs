//! A choice between two tensors, element by element.

use ndarray::ArrayD;

use crate::case::{Case, InputSpec};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `cond.where_cond(on_true, on_false)`: the element of `on_true` where `cond` is not 0, else that of `on_false`.
pub static WHERE_COND: Op = Op {
    name: "tensor.where_cond",
    covers: &["Tensor::where_cond"],
    support: &Support { of: "on_true", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[
        InputSpec::new("cond", "of any shape, integers: 0 is false").discrete(),
        InputSpec::new("on_true", "shaped as `cond`"),
        InputSpec::new("on_false", "shaped as `cond`"),
    ],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(WHERE_COND.support)?;
        let shape = draw.any_shape()?;
        let cond_dtype = *draw.choose(&[DType::U8, DType::U8, DType::U32, DType::I64, DType::I32, DType::I16])?;
        let mut case = Case::default()
            .input("cond", draw.ids(cond_dtype, &shape, 2)?)
            .input("on_true", draw.tensor(dtype, &shape)?)
            .input("on_false", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let (Some(cond), Some(yes), Some(no)) = (case.tensor("cond"), case.tensor("on_true"), case.tensor("on_false"))
        else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if cond.shape != yes.shape || cond.shape != no.shape {
            return Contract::Rejects(&rule::SHAPES);
        }
        if yes.dtype != no.dtype {
            return Contract::Rejects(&rule::MIXED);
        }
        Contract::accepts(yes.dtype, &yes.shape).may_refuse(!DType::IDS.contains(&cond.dtype), why::DTYPE)
    },
    call: &|call| {
        let (cond, on_true) = (call.tensor("cond")?, call.tensor("on_true")?);
        Ok(vec![cond.where_cond(on_true, call.tensor("on_false")?)?])
    },
    source: "cond.where_cond(&on_true, &on_false)?",
    torch: "torch.where(cond != 0, on_true, on_false)",
    reference: Some(&|inputs| {
        let (cond, yes, no) = (inputs.array("cond"), inputs.array("on_true"), inputs.array("on_false"));
        let picked =
            cond.iter().zip(yes.iter().zip(&no)).map(|(cond, (&yes, &no))| if cond.value == 0.0 { no } else { yes });
        vec![ArrayD::from_shape_vec(yes.raw_dim(), picked.collect()).expect("one value per condition")]
    }),
    ulps: 4.0,
    differentiable: &["on_false", "on_true"],
    promise: "candle-core/src/tensor.rs:1590-1606 (its documentation); torch.where",
};
