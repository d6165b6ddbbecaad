//! Strategies without a check: properties with proptest, of tensors in any layout. They shrink.

use candle_core::Device;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use snuffer::strategy::{broadcastable, labels, shape, tensor, to_candle, view_of};
use snuffer::tensor::{DType, Tensor};
use strategies::rows;

fn seeded() -> Config {
    Config { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn every_row_is_the_one_that_was_asked_for(
        table in view_of(tensor(DType::F32, Just(vec![5, 3]))),
        ids in labels(DType::U32, 0..9_usize, 5),
    ) {
        let picked = rows(&to_candle(&table, &Device::Cpu)?, &to_candle(&ids, &Device::Cpu)?)?;
        let (table, ids) = (table.floats(), ids.ints());
        let expected: Vec<f64> = ids.iter().flat_map(|&id| table[id as usize * 3..][..3].to_vec()).collect();
        let picked: Vec<f32> = picked.flatten_all()?.to_vec1()?;
        prop_assert!(picked.iter().zip(&expected).all(|(a, b)| f64::from(*a) == *b || (a.is_nan() && b.is_nan())));
        prop_assert_eq!(picked.len(), expected.len());
    }

    #[test]
    fn a_view_has_the_values_of_its_tensor(x in view_of(tensor(DType::F64, shape(0..=4)))) {
        let there: Vec<f64> = to_candle(&x, &Device::Cpu)?.flatten_all()?.to_vec1()?;
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&there), bits(&x.floats()));
    }

    #[test]
    fn two_shapes_that_broadcast_do(shapes in broadcastable(0..=4)) {
        let (whole, part) = shapes;
        let x = candle_core::Tensor::zeros(whole.clone(), candle_core::DType::F32, &Device::Cpu)?;
        let y = candle_core::Tensor::zeros(part, candle_core::DType::F32, &Device::Cpu)?;
        let sum = x.broadcast_add(&y)?;
        prop_assert_eq!(sum.dims(), whole.as_slice());
    }
}

#[test]
fn a_tensor_shrinks_to_a_small_contiguous_one_of_zeros() {
    let holds = |x: Tensor| {
        if x.floats().iter().any(|&value| value > 1.0) { Err(TestCaseError::fail("large")) } else { Ok(()) }
    };
    let failed = TestRunner::new(seeded()).run(&view_of(tensor(DType::F32, shape(1..=3))), holds);
    let Err(TestError::Fail(_, smallest)) = failed else { panic!("some element is large") };
    assert!(smallest.shape.iter().product::<usize>() <= 8 && smallest.view.is_contiguous(), "{smallest:?}");
}
