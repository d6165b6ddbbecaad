//! An excuse ends where its reason ends: calls just inside and just beyond what a reason is about.

use snuffer::case::Case;
use snuffer::ops::{self, Contract};
use snuffer::tensor::{DType, Fill, Tensor, Value, Values};

fn filled(dtype: DType, shape: &[usize], value: f64) -> Tensor {
    let values = Values::Fill(Fill::constant(Value::of(dtype, value)));
    Tensor { values, ..Tensor::new(dtype, shape.to_vec(), vec![Value::of(dtype, 0.0); shape.iter().product()]) }
}

fn contract(case: &Case) -> Contract {
    ops::find(&case.op).expect("an op of the catalog").contract(case)
}

/// The product of a row of this number with a block of `Q4_0` whose weights are ones.
fn product(x: f64) -> Case {
    let bytes = [0, 60].into_iter().chain([153; 16]).map(Value::Int).collect();
    let blocks = Tensor::new(DType::U8, vec![1, 18], bytes);
    let x = filled(DType::F32, &[1, 32], x);
    Case::new("quantized.matmul").param("format", "Q4_0").input("x", x).input("blocks", blocks)
}

fn quantized(format: &str, x: f64) -> Case {
    Case::new("quantized.quantize").param("format", format).input("x", filled(DType::F32, &[256], x))
}

fn norm(dtype: DType, x: f64) -> Case {
    let case = Case::new("op.layer_norm_slow").input("x", filled(dtype, &[1, 2], x));
    let case = case.input("alpha", filled(dtype, &[2], 1.0)).input("beta", filled(dtype, &[2], 0.0));
    Case { backward: snuffer::case::Backward::Sum, ..case }
}

fn convolution(padding: i64) -> Case {
    let case = Case::new("tensor.conv2d").param("padding", padding).param("stride", padding);
    case.input("x", filled(DType::F32, &[1, 1, 3, 3], 1.0)).input("kernel", filled(DType::F32, &[1, 1, 2, 2], 1.0))
}

#[test]
fn an_excuse_ends_where_its_reason_ends() {
    const BEYOND: &str = ops::why::BEYOND_SCALES;
    for (judged, open, why) in [
        // The scale of a block is in half precision. Sums of a block are not its scale.
        (product(2100.0), product(1e7), BEYOND),
        (quantized("Q8_0", 8e6), quantized("Q8_0", 9e6), BEYOND),
        (quantized("Q4_0", 5e5), quantized("Q4_0", 6e5), BEYOND),
        // A minimum is in half precision, too.
        (quantized("Q4_1", 65_504.0), quantized("Q4_1", 70_000.0), BEYOND),
        // Squares of half precision are added up in f32.
        (norm(DType::F16, 300.0), norm(DType::F32, 1e20), "gradients of huge numbers"),
    ] {
        assert!(matches!(contract(&judged), Contract::Accepts { .. }), "{}", judged.to_text());
        assert_eq!(contract(&open), Contract::Unspecified(why), "{}", open.to_text());
    }
}

#[test]
fn a_huge_padding_is_judged_by_the_size_of_the_output() {
    let Contract::Accepts { outputs, .. } = contract(&convolution(1_000_000_000_000)) else { panic!("no valid call") };
    assert_eq!(outputs, [(DType::F32, vec![1, 1, 3, 3])]);
}
