//! The unbiased variance.

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::arguments::{ANY, DIM, KEEPDIM};
use crate::ops::support::moving::ids::dim;
use crate::ops::support::reducing::reductions::{ANY_VALUE, reduced, reduced_shape, squared};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `x.var(dim)` and `x.var_keepdim(dim)`, by `form`: `sum((x - mean)^2) / (n - 1)`.
pub static VAR: Op = Op {
    name: "tensor.var",
    covers: &["Tensor::var", "Tensor::var_keepdim"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    inputs: &[ANY],
    params: &[DIM, KEEPDIM],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?);
        let dtype = draw.dtype(VAR.support)?;
        let x = draw.tensor(dtype, &shape)?;
        let mut case = Case::default().input("x", x).param("dim", dim).param("form", *draw.choose(&["", "keepdim"])?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        if !x.dtype.is_float() {
            return Contract::Rejects(&rule::VARIANCE);
        }
        let shape = reduced_shape(&x.shape, &[dim], case.text("form") == "keepdim");
        Contract::accepts(x.dtype, &shape)
    },
    call: &|call| {
        let (x, dim) = (call.tensor("x")?, call.size("dim"));
        Ok(vec![if call.case.text("form") == "keepdim" { x.var_keepdim(dim)? } else { x.var(dim)? }])
    },
    source: "x.var{{ '_keepdim' if form == 'keepdim' else '' }}({{ dim }})?",
    torch: "x.var({{ dim }}{{ ', keepdim=True' if form == 'keepdim' else '' }})",
    reference: Some(&|inputs| {
        let dim = inputs.case.size("dim");
        let narrow = VAR.dtype(inputs.case) == Some(DType::F8e4m3);
        reduced(&inputs.array("x"), &[dim], inputs.case.text("form") == "keepdim", |group| {
            // 0 / 0, as in PyTorch, which refuses the 8-bit float.
            if group.len() < 2 {
                return if narrow { ANY_VALUE } else { Num::exact(f64::NAN) };
            }
            Num::accumulated(group, |group| {
                let mean = Num::mean(group);
                let squares = group.iter().map(|&x| squared(x - mean));
                Num::sum(squares) / Num::exact(group.len() as f64 - 1.0)
            })
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1071-1083 (unbiased); torch.var",
};
