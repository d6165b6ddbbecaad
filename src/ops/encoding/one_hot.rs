//! One-hot encoding.

use candle_core::WithDType;
use candle_nn::encoding::one_hot;
use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::DTYPE;
use crate::ops::{Call, Contract, Op, in_range, rule, why};
use crate::tensor::{DType, Support, product};

/// `one_hot(indices, depth, on, off)`: `on` at each index, `off` elsewhere; -1 is a row of `off`.
pub static ONE_HOT: Op = Op {
    name: "encoding.one_hot",
    covers: &["encoding::one_hot"],
    support: &Support::both("indices", &DType::IDS),
    inputs: &[InputSpec::new("indices", "of any shape, integers: the position of each 1").discrete()],
    params: &[
        ParamSpec::size("depth", 0, "The number of classes."),
        DTYPE,
        ParamSpec::int("off", 0, "The value elsewhere."),
        ParamSpec::int("on", 1, "The value at each index."),
    ],
    generate: &|draw| {
        let shape = draw.open_shape(0, 2)?;
        let (dtype, depth) = (draw.dtype(ONE_HOT.support)?, draw.positive()?);
        let indices = draw.ids(dtype, &shape, depth)?;
        let case = Case::default().input("indices", indices).param("depth", depth);
        let case = case.param("on", draw.between(0, 2)?).param("off", draw.between(0, 2)?);
        Ok(case.param("dtype", *draw.choose(&["f32", "f64", "u8", "u32", "i64"])?))
    },
    contract: &|case| {
        let Some(indices) = case.tensor("indices") else { return Contract::Rejects(&rule::SHAPES) };
        let (depth, dtype) = (case.size("depth"), output_dtype(case));
        let shape = [&indices.shape[..], &[depth]].concat();
        if product(&shape).is_none_or(|n| n > 1 << 22) || depth > 1 << 22 {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        if !DType::IDS.contains(&indices.dtype) {
            return Contract::Rejects(&rule::ID_DTYPE);
        }
        if indices.ints().iter().any(|&index| index != -1 && !in_range(index, depth)) {
            return Contract::Rejects(&rule::ID);
        }
        let is_held = |value: i64| value.unsigned_abs() < 1 << 53 && dtype.round(value as f64) == value as f64;
        if ![case.int("on"), case.int("off")].into_iter().all(is_held) {
            return Contract::Unspecified("values that the dtype may not be able to hold");
        }
        Contract::accepts(dtype, &shape)
    },
    call: &|call| {
        Ok(vec![match output_dtype(call.case) {
            DType::F64 => encoded::<f64>(call)?,
            DType::U8 => encoded::<u8>(call)?,
            DType::U32 => encoded::<u32>(call)?,
            DType::I64 => encoded::<i64>(call)?,
            _ => encoded::<f32>(call)?,
        }])
    },
    source: r"
        candle_nn::encoding::one_hot(
            indices, {{ depth }}, {{ on|of(dtype) }}, {{ off|of(dtype) }},
        )?
    ",
    torch: r#"
        chosen = F.one_hot({{ ids("indices") }}, {{ depth }}) == 1
        torch.where(chosen, {{ on|of(dtype) }}, {{ off|of(dtype) }})
    "#,
    reference: Some(&|inputs| {
        let (indices, depth) = (inputs.ids("indices"), inputs.case.size("depth"));
        let value = |name| Num::exact(inputs.case.int(name) as f64);
        let (on, off) = (value("on"), value("off"));
        let shape = [indices.shape(), &[depth]].concat();
        vec![ArrayD::from_shape_fn(IxDyn(&shape), |at| {
            let (class, index) = (at[indices.ndim()], indices[&at.slice()[..indices.ndim()]]);
            if usize::try_from(index).ok() == Some(class) { on } else { off }
        })]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/encoding.rs (its documentation: indices of u8, u32 or i64; -1 is an off row, anything else outside is an error); \
              torch.nn.functional.one_hot, and tf.one_hot, which its documentation names, for -1",
};

/// The dtype of the output.
fn output_dtype(case: &Case) -> DType {
    DType::named(case.text("dtype")).filter(|dtype| OUTPUT_DTYPES.contains(dtype)).unwrap_or(DType::F32)
}

/// The dtypes that an output can have.
const OUTPUT_DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::U8, DType::U32, DType::I64];

fn encoded<T: WithDType>(call: &Call) -> candle_core::Result<candle_core::Tensor> {
    let value = |name| T::from_f64(call.case.int(name) as f64);
    one_hot(call.tensor("indices")?.clone(), call.size("depth"), value("on"), value("off"))
}
