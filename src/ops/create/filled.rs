//! Table: matrices of zeros and ones.

use candle_core::Tensor;

use crate::case::Case;
use crate::ops::Op;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::candle_dtype;
use crate::ops::support::elements::creation::{CREATED_PROMISE, contract, dtype, filled, generate};
use crate::tensor::{DType, Support};

/// Uploads take every dtype.
const UPLOADED: &Support = &Support::both("dtype", &DType::ALL);

/// The case with as many columns as rows, for the contract and reference of any matrix.
fn square(case: &Case) -> Case {
    case.clone().param("columns", case.size("rows"))
}

/// The dtypes of kernels that fill.
const FILLED: &Support = &Support { of: "dtype", cpu: &DType::ALL, cuda: &DType::STANDARD };

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $support:expr, $value:literal;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("create.", stringify!($function)),
            covers: &[concat!("Tensor::", stringify!($function))],
            support: $support,
            inputs: &[],
            params: &[COLUMNS, DTYPE, ROWS],
            generate: &|draw| generate(draw, $support),
            contract: &contract,
            call: &|call| {
                let shape = (call.size("rows"), call.size("columns"));
                Ok(vec![Tensor::$function(shape, candle_dtype(dtype(call.case)), call.device)?])
            },
            source: concat!(
                "Tensor::", stringify!($function),
                "(({{ rows }}, {{ columns }}), {{ dtype|dtype }}, &device)?"
            ),
            torch: concat!(
                "torch.", stringify!($function),
                "({{ rows }}, {{ columns }}, dtype={{ dtype|dtype }})"
            ),
            reference: Some(&|inputs| filled(inputs.case, |_, _| $value)),
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
            inputs: &[],
            params: &[DTYPE, ROWS],
            generate: &|draw| {
                let mut case = generate(draw, FILLED)?;
                case.params.remove("columns");
                let size = case.size("rows").min(600);
                Ok(case.param("rows", size))
            },
            contract: &|case| contract(&square(case)),
            call: &|call| Ok(vec![Tensor::$function(call.size("rows"), candle_dtype(dtype(call.case)), call.device)?]),
            source: concat!(
                "Tensor::", stringify!($function), "({{ rows }}, {{ dtype|dtype }}, &device)?"
            ),
            torch: $torch,
            reference: Some(&|inputs| {
                filled(&square(inputs.case), |row: usize, column: usize| if $holds(&row, &column) { 1.0 } else { 0.0 })
            }),
            ulps: 4.0,
            differentiable: &[],
            promise: "candle-core/src/tensor.rs:2814-2838 (the documentation of each); torch.eye, torch.tril and torch.triu",
        };
    )*};
}

squares! {
    /// Ones on the diagonal.
    EYE = eye, "torch.eye({{ rows }}, dtype={{ dtype|dtype }})", usize::eq;
    /// Ones on the diagonal and below.
    TRIL = tril2, "{% include 'square of ones' %}.tril()", usize::ge;
    /// Ones on the diagonal and above.
    TRIU = triu2, "{% include 'square of ones' %}.triu()", usize::le;
}
