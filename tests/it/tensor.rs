//! Tensors of cases: views, their buffers, and what a dtype can hold.

use snuffer::tensor::{DType, Step, Tensor, Value, Values, View};

#[test]
fn a_broadcast_dimension_is_stored_once_and_read_everywhere() {
    let view = View { broadcast: vec![0], ..View::default() };
    let values = Values::List(vec![Value::Int(1), Value::Int(2)]);
    let tensor = Tensor { dtype: DType::U8, shape: vec![3, 2], view, values };
    assert_eq!(tensor.check(), Ok(()));
    assert_eq!(tensor.ints(), [1, 2, 1, 2, 1, 2]);
    assert_eq!(tensor.contiguous().stored(), Some(6));
}

#[test]
fn a_value_that_the_dtype_cannot_hold_is_refused() {
    let tensor = Tensor::new(DType::U8, vec![1], vec![Value::Int(256)]);
    assert!(tensor.check().unwrap_err().contains("256"));
    let tensor = Tensor::new(DType::F16, vec![1], vec![Value::Float(0.1)]);
    assert!(tensor.check().unwrap_err().contains("0.1"));
}

#[test]
fn positions_follow_order_narrowing_and_steps() {
    let transposed = View { order: vec![1, 0], ..View::default() };
    assert_eq!(transposed.positions(&[2, 3]), (vec![0, 2, 4, 1, 3, 5], 6));
    let narrowed = View { before: vec![0, 1], after: vec![0, 2], ..View::default() };
    assert_eq!(narrowed.positions(&[2, 1]), (vec![1, 5], 8));
    let column = View { step: vec![3], ..View::default() };
    assert_eq!(column.positions(&[2]), (vec![0, 3], 6));
}

#[test]
fn a_column_of_a_transposed_matrix_is_made_in_three_steps() {
    let view = View { order: vec![1, 0], before: vec![0, 1], step: vec![1, 2], ..View::default() };
    let values = [1.0, 2.0].map(Value::Float).to_vec();
    let tensor = Tensor { view, ..Tensor::new(DType::F32, vec![2, 1], values) };
    let around = Value::Float(View::POISON);
    let [one, two] = [1.0, 2.0].map(Value::Float);
    assert_eq!(tensor.buffer(), (vec![around, around, around, around, one, two, around, around], vec![2, 2, 2]));
    assert_eq!(tensor.buffer_positions(), [4, 5]);
    assert_eq!(tensor.steps(), [Step::First(1), Step::Narrow(0, 1, 1), Step::Permute(vec![1, 0])]);
}

#[test]
fn every_format_agrees_with_its_own_rounding() {
    for dtype in DType::FLOATS.into_iter().chain([DType::F8e4m3]) {
        let unit = dtype.unit_roundoff();
        assert_eq!(dtype.round(1.0 + 2.0 * unit), 1.0 + 2.0 * unit, "{dtype}: the next value after 1");
        assert_eq!(dtype.round(1.0 + unit), 1.0, "{dtype}: a tie goes to even");
        assert_eq!(dtype.round(dtype.smallest()), dtype.smallest(), "{dtype}: smallest subnormal");
        assert_eq!(dtype.round(dtype.max()), dtype.max(), "{dtype}: largest");
    }
}

#[test]
fn a_format_has_the_roundoff_and_the_smallest_value_of_its_precision() {
    for dtype in DType::ALL {
        let Some(format) = dtype.format() else { continue };
        assert_eq!(dtype.unit_roundoff(), (-f64::from(format.precision)).exp2(), "{dtype}");
        assert_eq!(dtype.smallest(), f64::from(format.min_exponent - format.precision + 1).exp2(), "{dtype}");
    }
    assert_eq!(DType::F64.smallest(), f64::from_bits(1));
}
