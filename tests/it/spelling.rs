//! A number is judged however it is spelled: a float dtype rounds it, as a caller in Rust or PyTorch does.

use snuffer::case::{Case, Param};
use snuffer::device::Device;
use snuffer::ops::{self, Contract};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome, Returned};
use snuffer::tensor::{DType, Tensor, Value};

/// An op, its form, its numbers, and the name of its input if it has one.
type Row = (&'static str, &'static str, &'static [(&'static str, f64)], &'static str);

/// Calls whose numbers are ordinary decimals.
const CALLS: [Row; 17] = [
    ("tensor.clamp", "", &[("min", 0.1), ("max", 0.9)], "x"),
    ("tensor.maximum", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.minimum", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.eq", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.ne", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.lt", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.le", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.gt", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.ge", "scalar", &[("scalar", 0.1)], "lhs"),
    ("tensor.powf", "", &[("e", 1.0 / 3.0)], "x"),
    ("tensor.elu", "", &[("alpha", 1e-7)], "x"),
    ("op.leaky_relu", "", &[("negative_slope", 1e-4)], "x"),
    ("op.selu", "", &[("alpha", 1e-4), ("gamma", 1e-4)], "x"),
    ("create.full", "", &[("value", 0.1)], ""),
    ("create.arange", "", &[("start", 0.3), ("end", 1.95), ("step", 0.1)], ""),
    ("random.rand", "new", &[("lo", 0.1), ("up", 0.9)], ""),
    ("random.randn", "new", &[("mean", 0.1), ("std", 0.02)], ""),
];

/// The call of `CALLS` in `dtype` on these elements, its numbers spelled as `spelled` says.
fn call(row: usize, dtype: DType, x: &[f64], spelled: impl Fn(f64) -> f64) -> Case {
    let (op, form, numbers, input) = CALLS[row];
    let mut case = Case::new(op);
    if !form.is_empty() {
        case = case.param("form", form);
    }
    for (name, number) in numbers {
        case = case.param(name, spelled(*number));
    }
    if input.is_empty() {
        let case = case.param("dtype", dtype.name());
        return if op == "create.arange" { case } else { case.param("rows", 1_i64).param("columns", 3_i64) };
    }
    let values = x.iter().map(|&value| Value::of(dtype, value)).collect();
    case.input(input, Tensor::new(dtype, vec![x.len()], values))
}

#[test]
fn decimals_are_judged_like_the_numbers_that_a_dtype_rounds_them_to() {
    for (row, (op, ..)) in CALLS.iter().enumerate() {
        for dtype in DType::FLOATS {
            let [written, rounded] =
                [call(row, dtype, &[0.5], |number| number), call(row, dtype, &[0.5], |number| dtype.round(number))];
            let op = ops::find(op).expect("an op of the catalog");
            let contracts = [&written, &rounded].map(|case| op.contract(case));
            assert!(matches!(contracts[0], Contract::Accepts { refusal: None, .. }), "{}: {:?}", op.name, contracts[0]);
            assert_eq!(contracts[0], contracts[1], "{} in {dtype}", op.name);
        }
    }
}

/// Whether `output` passes as the result of `case` on the CPU.
fn passes(case: &Case, output: &[f64]) -> bool {
    let op = ops::find(&case.op).expect("an op of the catalog");
    let Contract::Accepts { outputs, .. } = op.contract(case) else { panic!("no valid call: {case:?}") };
    let dtype = outputs[0].0;
    let values = output.iter().map(|&value| Value::of(dtype, value)).collect();
    let returned = Returned { outputs: vec![Tensor::new(dtype, vec![output.len()], values)], ..Returned::default() };
    !matches!(
        judge(&Evidence::new(op, case, &[Observation::new(Device::Cpu, Outcome::Returned(returned))])),
        Verdict::Fail(_)
    )
}

#[test]
fn a_wrong_result_of_a_call_with_decimals_is_found() {
    let of = |op: &str, dtype: DType, x: &[f64]| {
        call(CALLS.iter().position(|call| call.0 == op).expect("a call"), dtype, x, |number| number)
    };
    for dtype in DType::FLOATS {
        let [tenth, most] = [0.1, 0.9].map(|number| dtype.round(number));
        let around = [tenth - 0.05, 0.5, 1.5];
        for (case, right, wrong) in [
            (of("tensor.clamp", dtype, &around), [tenth, 0.5, most], [0.05, 0.5, most]),
            (of("tensor.maximum", dtype, &around), [tenth, 0.5, 1.5], [0.05, 0.5, 1.5]),
            (of("tensor.minimum", dtype, &around), [tenth - 0.05, tenth, tenth], [tenth, tenth, tenth]),
            (of("tensor.eq", dtype, &[tenth, 0.5, 1.5]), [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
            (of("tensor.lt", dtype, &[tenth, 0.0, 1.5]), [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
            (of("tensor.powf", dtype, &[8.0, 1.0, 0.0]), [2.0, 1.0, 0.0], [2.25, 1.0, 0.0]),
        ] {
            assert!(passes(&case, &right), "{right:?} is right for {case:?}");
            assert!(!passes(&case, &wrong), "{wrong:?} passes for {case:?}");
        }
    }
}

#[test]
fn only_numbers_that_have_no_element_of_the_dtype_are_open() {
    for (op, dtype, number) in [
        ("tensor.clamp", DType::U8, 0.5),
        ("tensor.maximum", DType::I64, 0.5),
        ("tensor.clamp", DType::F16, 1e9),
        ("tensor.powf", DType::F16, 1e9),
        ("create.full", DType::U8, 0.5),
        ("create.full", DType::U8, 300.0),
        ("create.arange", DType::F16, 1e9),
        ("random.rand", DType::F32, 1e39),
    ] {
        let row = CALLS.iter().position(|call| call.0 == op).expect("a call");
        let case = call(row, dtype, &[1.0], |_| number);
        let contract = ops::find(op).expect("an op of the catalog").contract(&case);
        assert!(matches!(contract, Contract::Unspecified(_)), "{op} of {number} in {dtype}: {contract:?}");
    }
}

#[test]
fn the_length_of_a_range_is_judged_unless_rounding_decides_it() {
    let length = |dtype: DType, numbers: [f64; 3]| {
        let names = ["start", "end", "step"].into_iter().zip(numbers);
        let case = names.fold(Case::new("create.arange").param("dtype", dtype.name()), |case, (name, number)| {
            case.param(name, Param::from(number))
        });
        match ops::find("create.arange").expect("an op of the catalog").contract(&case) {
            Contract::Accepts { outputs, .. } => Some(outputs[0].1[0]),
            Contract::Rejects(rule) => panic!("{rule}"),
            Contract::Unspecified(_) => None,
        }
    };
    for (dtype, numbers, expected) in [
        (DType::F32, [0.0, 1000.0, 0.1], Some(10_000)),
        (DType::F32, [0.0, 10_000.0, 0.1], Some(100_000)),
        (DType::Bf16, [0.0, 1.0, 0.1], Some(10)),
        (DType::F64, [0.0, 1.0, 0.1], Some(10)),
        (DType::F32, [1.0, 0.0, -0.25], Some(4)),
        (DType::U8, [0.0, 10.0, 3.0], Some(4)),
        // Of f32, 0.7 is a little less.
        (DType::F32, [0.0, 7.0, 0.7], None),
        (DType::F16, [0.0, 1.0, 0.1], None),
        // Of f64, 1.1 is a little more.
        (DType::F64, [0.1, 1.1, 0.1], None),
    ] {
        assert_eq!(length(dtype, numbers), expected, "{numbers:?} in {dtype}");
    }
}
