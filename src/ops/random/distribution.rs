//! Table: uniform and normal values, in a new tensor or in one like another.

use candle_core::{Result, Tensor, WithDType};

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::{candle_dtype, typed_float};
use crate::ops::support::elements::creation::{contract, dtype, generate, shape};
use crate::ops::support::elements::random_facts::{
    CREATED, Distribution, all_hold, check_distribution, facts_contract,
};
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, product};

macro_rules! distributions {
    ($(
        $(#[$doc:meta])*
        $name:ident = $method:ident, $like:ident, $distribution:ident,
            $first:ident = $first_default:literal $about_first:literal,
            $second:ident = $second_default:literal $about_second:literal,
            $drawn:expr, $is_ordinary:ident or $extraordinary:expr;
    )*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("random.", stringify!($method)),
            covers: &[concat!("Tensor::", stringify!($method)), concat!("Tensor::", stringify!($like))],
            support: CREATED,
            inputs: &[],
            params: &[
                COLUMNS,
                ParamSpec::size("draws", 1, "How often values are drawn: the last ones are judged.").optional(),
                DTYPE,
                ParamSpec::word("form", &["new", "like"], "The function, or its `_like` form."),
                ParamSpec::float(stringify!($first), $first_default, $about_first),
                ROWS,
                ParamSpec::float(stringify!($second), $second_default, $about_second),
            ],
            generate: &|draw| {
                let (first, second) = *draw.choose(&$drawn)?;
                let case = generate(draw, CREATED)?.param("form", *draw.choose(&["like", "new"])?);
                let case = case.param(stringify!($first), first).param(stringify!($second), second);
                let is_small = product(&shape(&case)).is_some_and(|count| count <= 4096);
                Ok(if is_small && draw.one_in(16)? { case.param("draws", *draw.choose(&[10, 100, 1000_usize])?) } else { case })
            },
            contract: &|case| {
                let values = product(&shape(case)).and_then(|count| count.max(LEAST).checked_mul(draws(case)));
                if draws(case) == 0 {
                    Contract::Unspecified(why::NO_CALL)
                } else if draws(case) > 1 && values.is_none_or(|count| count > MOST_VALUES) {
                    Contract::Unspecified(why::TOO_LARGE)
                } else if $is_ordinary(case.float(stringify!($first)), case.float(stringify!($second)), dtype(case)) {
                    facts_contract(contract(case))
                } else {
                    $extraordinary
                }
            },
            call: &|call| {
                let (first, second) = (call.case.float(stringify!($first)), call.case.float(stringify!($second)));
                let shape = (call.size("rows"), call.size("columns"));
                let draw = || match call.case.text("form") {
                    "like" => Tensor::zeros(shape, candle_dtype(dtype(call.case)), call.device)?.$like(first, second),
                    _ => typed_float!(dtype(call.case), T => {
                        let number = <T as WithDType>::from_f64;
                        Tensor::$method(number(first), number(second), shape, call.device)
                    }),
                };
                let earlier = (1..draws(call.case)).map(|_| draw()).collect::<Result<Vec<_>>>()?;
                check_distribution(&draw()?, &earlier, call.case, &Distribution::$distribution(first, second))
            },
            source: concat!(
                "{% set first, second = ", stringify!($first), ", ", stringify!($second), " %}\n",
                "{% if form == 'like' %}\n",
                "let zeros = Tensor::zeros(({{ rows }}, {{ columns }}), {{ dtype|dtype }}, &device)?;\n",
                "{% set drawn %}zeros.", stringify!($like), "({{ first }}, {{ second }})?{% endset %}\n",
                "{% else %}\n",
                "{% set drawn %}Tensor::", stringify!($method),
                "({{ first|of(dtype) }}, {{ second|of(dtype) }}, ({{ rows }}, {{ columns }}), &device)?{% endset %}\n",
                "{% endif %}\n",
                "{% if draws is defined %}\nfor _ in 1..{{ draws }} {\n{{ drawn }};\n}\n{% endif %}\n",
                "let drawn = {{ drawn }};\n",
                "println!(\"{drawn}\");"
            ),
            // PyTorch draws other numbers.
            torch: "",
            reference: Some(&all_hold),
            ulps: 4.0,
            differentiable: &[],
            promise: "candle-core/src/tensor.rs:345-420 (the documentation of each); torch.Tensor.uniform_ and torch.normal: \
                      values within their bounds, mean and variance within six standard deviations, no draw like an earlier one",
        };
    )*};
}

distributions! {
    /// `Tensor::rand(lo, up, (rows, columns), device)`, or `rand_like` with `form = "like"`.
    RAND = rand, rand_like, uniform,
        lo = 0.0 "The lower bound.",
        up = 1.0 "The upper bound.",
        [(0.0, 1.0), (-1.0, 1.0), (0.1, 0.9), (3.0, 4.0), (-0.5, 0.0)],
        is_ordinary_interval or Contract::Unspecified("an extraordinary interval");
    /// `Tensor::randn(mean, std, (rows, columns), device)`, or `randn_like`.
    RANDN = randn, randn_like, normal,
        mean = 0.0 "The mean.",
        std = 1.0 "The standard deviation.",
        [(0.0, 1.0), (0.0, 0.02), (2.0, 0.25), (-1.0, 1.0)],
        is_ordinary_normal or Contract::Unspecified("an extraordinary distribution");
}

/// The most values that a case draws more than once.
const MOST_VALUES: usize = 1 << 22;
/// A draw takes as long as that of so many values at least.
const LEAST: usize = 1 << 9;

/// How often a case draws.
fn draws(case: &Case) -> usize {
    case.optional_size("draws").unwrap_or(1)
}

/// The largest bound for which a distribution is checked: the squares of values are added up in `f64`.
const LARGEST_BOUND: f64 = 1e30;

fn is_ordinary_interval(lo: f64, up: f64, dtype: DType) -> bool {
    let largest = dtype.max().min(LARGEST_BOUND);
    dtype.round(lo) <= dtype.round(up) && [lo, up, up - lo].iter().all(|size| size.abs() <= largest)
}

fn is_ordinary_normal(mean: f64, std: f64, dtype: DType) -> bool {
    // No value is further from the mean than ten deviations.
    std >= 0.0 && mean.abs() + 10.0 * std <= dtype.max().min(LARGEST_BOUND)
}
