//! cuBLAS: products that are no batches, products with vectors, sums of absolute values, and where factors are.

use crate::{WELL, download, upload, with_device};
use cuda::api::cublas::products::*;
use cuda::api::cublas::settings::*;
use cuda::api::cublas::vectors::*;
use cuda::api::cublas::*;
use half::f16;
use std::ffi::{c_int, c_void};
use std::ptr;

fn handle() -> usize {
    let mut handle = 0;
    assert_eq!(unsafe { cublasCreate_v2(&raw mut handle) }, 0);
    handle
}

/// A = (1 3 5; 2 4 6), column by column.
const A: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn pointer<T>(x: &T) -> *const c_void {
    ptr::from_ref(x).cast()
}

#[test]
fn a_single_product_agrees_with_the_definition_in_every_type() {
    with_device(WELL);
    // A times its transpose, doubled, without the old result.
    let expected = [70.0, 88.0, 88.0, 112.0];
    let (single, double, half) = ([2_f32, 0.0], [2_f64, 0.0], [f16::from_f32(2.0), f16::ZERO]);
    let handle = handle();

    let (a, c) = (upload(&A.map(|x| x as f32)), upload(&[f32::NAN; 4]));
    let (alpha, beta) = (pointer(&single[0]), pointer(&single[1]));
    assert_eq!(unsafe { cublasSgemm_v2(handle, 0, 1, 2, 2, 3, alpha, a, 2, a, 2, beta, c, 2) }, 0);
    assert_eq!(download(c, 4), Ok(expected.map(|x| x as f32).to_vec()));
    let c = upload(&[f32::NAN; 4]);
    assert_eq!(unsafe { cublasGemmEx(handle, 0, 1, 2, 2, 3, alpha, a, 0, 2, a, 0, 2, beta, c, 0, 2, 68, -1) }, 0);
    assert_eq!(download(c, 4), Ok(expected.map(|x| x as f32).to_vec()));
    let c = upload(&[f32::NAN; 8]);
    let run = unsafe { cublasSgemmStridedBatched(handle, 0, 1, 2, 2, 3, alpha, a, 2, 0, a, 2, 0, beta, c, 2, 4, 2) };
    assert_eq!(run, 0);
    assert_eq!(download(c, 8), Ok([expected, expected].concat().into_iter().map(|x| x as f32).collect()));

    let (a, c) = (upload(&A), upload(&[f64::NAN; 4]));
    let (alpha, beta) = (pointer(&double[0]), pointer(&double[1]));
    assert_eq!(unsafe { cublasDgemm_v2(handle, 0, 1, 2, 2, 3, alpha, a, 2, a, 2, beta, c, 2) }, 0);
    assert_eq!(download(c, 4), Ok(expected.to_vec()));

    let (a, c) = (upload(&A.map(f16::from_f64)), upload(&[f16::NAN; 4]));
    let (alpha, beta) = (pointer(&half[0]), pointer(&half[1]));
    assert_eq!(unsafe { cublasHgemm(handle, 0, 1, 2, 2, 3, alpha, a, 2, a, 2, beta, c, 2) }, 0);
    assert_eq!(download(c, 4), Ok(expected.map(f16::from_f64).to_vec()));
}

/// Multiplies A, or its transpose, by a vector of every second number, and adds the old result.
fn vector_product<T: Copy + Default>(
    to: fn(f64) -> T,
    multiply: impl Fn(u32, *const c_void, u64, (u64, c_int), *const c_void, (u64, c_int)) -> u32,
) -> [Vec<T>; 2] {
    let (two, one) = (to(2.0), to(1.0));
    let a = upload(&A.map(to));
    [(0, 3, [9.0, 0.0, 9.0, 0.0]), (1, 2, [9.0, 0.0, 9.0, 9.0])].map(|(operation, length, old)| {
        let x: Vec<T> = [1.0, 0.0, 10.0, 0.0, 100.0].map(to)[..2 * length - 1].to_vec();
        let (x, y) = (upload(&x), upload(&old.map(to)));
        // The result of the product is in every second place, that of the transpose in the first ones.
        let step = if operation == 0 { 2 } else { 1 };
        assert_eq!(multiply(operation, pointer(&two), a, (x, 2), pointer(&one), (y, step)), 0);
        download::<T>(y, 4).expect("readable")
    })
}

#[test]
fn a_product_with_a_vector_takes_any_distance_between_elements() {
    with_device(WELL);
    let handle = handle();
    let single = vector_product(
        |x| x as f32,
        |operation, alpha, a, (x, step_x), beta, (y, step_y)| unsafe {
            cublasSgemv_v2(handle, operation, 2, 3, alpha, a, 2, x, step_x, beta, y, step_y)
        },
    );
    let double = vector_product(
        |x| x,
        |operation, alpha, a, (x, step_x), beta, (y, step_y)| unsafe {
            cublasDgemv_v2(handle, operation, 2, 3, alpha, a, 2, x, step_x, beta, y, step_y)
        },
    );
    // 1 + 30 + 500 and 2 + 40 + 600; 1 + 20, 3 + 40 and 5 + 60: each doubled, and the old result added.
    let expected = [[1071.0, 0.0, 1293.0, 0.0], [51.0, 86.0, 139.0, 9.0]];
    assert_eq!(double, expected.map(|row| row.to_vec()));
    assert_eq!(single, expected.map(|row| row.map(|x| x as f32).to_vec()));
    let one = 1_f32;
    let run = |step| unsafe { cublasSgemv_v2(handle, 0, 2, 3, pointer(&one), 0, 2, 0, step, pointer(&one), 0, 1) };
    assert_eq!((run(0), run(-1)), (7, 15), "no distance is an error, and running backwards is not simulated");
}

#[test]
fn absolute_values_are_summed_with_any_distance_between_them() {
    with_device(WELL);
    let handle = handle();
    let (mut single, mut double) = (0_f32, 0_f64);
    let (floats, doubles) = (upload(&[-1_f32, 2.0, -3.0]), upload(&[-1_f64, 2.0, -3.0]));
    for (n, step, expected) in [(3, 1, 6.0), (2, 2, 4.0), (0, 1, 0.0), (3, 0, 0.0)] {
        assert_eq!(unsafe { cublasSasum_v2(handle, n, floats, step, &raw mut single) }, 0);
        assert_eq!(unsafe { cublasDasum_v2(handle, n, doubles, step, &raw mut double) }, 0);
        assert_eq!((f64::from(single), double), (expected, expected), "{n} {step}");
    }
}

#[test]
fn the_pointer_mode_is_kept_and_factors_on_the_device_are_not_simulated() {
    with_device(WELL);
    let handle = handle();
    let mut mode = 9;
    for set in [1, 0] {
        assert_eq!(cublasSetPointerMode_v2(handle, set), 0);
        assert_eq!(unsafe { cublasGetPointerMode_v2(handle, &raw mut mode) }, 0);
        assert_eq!(mode, set);
    }
    assert_eq!(cublasSetPointerMode_v2(handle, 2), 7);
    assert_eq!(cublasSetPointerMode_v2(handle, 1), 0);
    let (one, x) = (1_f32, upload(&[1_f32]));
    let run = unsafe { cublasSgemm_v2(handle, 0, 0, 1, 1, 1, pointer(&one), x, 1, x, 1, pointer(&one), x, 1) };
    assert_eq!(run, 15);
}

#[test]
fn the_math_mode_is_kept_and_other_settings_are_taken() {
    with_device(WELL);
    let (mut handle, mut mode) = (0, 9);
    assert_eq!(unsafe { cublasCreate_v2(&raw mut handle) }, 0);
    for set in [3, 1, 16, 18, 0] {
        assert_eq!(cublasSetMathMode(handle, set), 0);
        assert_eq!((unsafe { cublasGetMathMode(handle, &raw mut mode) }, mode), (0, set));
    }
    assert_eq!((cublasSetMathMode(handle, 4), cublasSetMathMode(0xbad, 0)), (7, 1));
    assert_eq!((cublasSetAtomicsMode(handle, 1), cublasSetAtomicsMode(handle, 2)), (0, 7));
    assert_eq!(cublasSetWorkspace_v2(handle, ptr::null_mut(), 0), 0);
    assert_eq!(cublasDestroy_v2(handle), 0);
    assert_eq!(cublasSetWorkspace_v2(handle, ptr::null_mut(), 0), 1);
}
