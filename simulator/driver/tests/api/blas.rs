//! Products of matrices.

use crate::{
    BROKEN_BY_BLAS, BROKEN_BY_RESULT, INVALID_ADDRESS_TEST, WELL, allocate, download, said_in, upload, with_device,
};
use cuda::api::cublas::products::*;
use cuda::api::cublas::*;
use cuda::api::driver::context::cuCtxSynchronize;
use half::{bf16, f16};
use std::ffi::{c_int, c_void};

const N: u32 = 0;
const T: u32 = 1;

/// The arguments of a product whose matrices follow one another in a batch.
#[derive(Clone, Copy)]
struct Product {
    operations: [u32; 2],
    sizes: [c_int; 3],
    leading: [c_int; 3],
    batch: c_int,
    data_type: u32,
    compute: u32,
}

impl Product {
    /// Matrices without gaps.
    fn new(operations: [u32; 2], [m, n, k]: [c_int; 3], batch: c_int, [data_type, compute]: [u32; 2]) -> Self {
        let leading =
            [if operations[0] == N { m } else { k }, if operations[1] == N { k } else { n }, m].map(|n| n.max(1));
        Self { operations, sizes: [m, n, k], leading, batch, data_type, compute }
    }

    fn run<S>(&self, [alpha, beta]: [S; 2], [a, b, c]: [u64; 3]) -> u32 {
        let ([m, n, k], [lda, ldb, ldc]) = (self.sizes, self.leading);
        let stride = |x: c_int, y: c_int| i64::from(x) * i64::from(y);
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let (strides, t) = ([stride(m, k), stride(k, n), stride(m, n)], self.data_type);
        let [ta, tb] = self.operations;
        let mut handle = 0;
        unsafe {
            assert_eq!(cublasCreate_v2(&raw mut handle), 0);
            let code = if t == 1 {
                cublasDgemmStridedBatched(
                    handle, ta, tb, m, n, k, alpha, a, lda, strides[0], b, ldb, strides[1], beta, c, ldc, strides[2],
                    self.batch,
                )
            } else {
                cublasGemmStridedBatchedEx(
                    handle,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    alpha,
                    a,
                    t,
                    lda,
                    strides[0],
                    b,
                    t,
                    ldb,
                    strides[1],
                    beta,
                    c,
                    t,
                    ldc,
                    strides[2],
                    self.batch,
                    self.compute,
                    99,
                )
            };
            assert_eq!(cublasDestroy_v2(handle), 0);
            code
        }
    }
}

/// Small integers, so that every sum is exact in every type.
fn integers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7 + seed) % 9) as f64 - 4.0).collect()
}

/// `2 * op(A) op(B) - C` by the definition.
fn expected(product: &Product, a: &[f64], b: &[f64], c: &[f64]) -> Vec<f64> {
    let [m, n, k] = product.sizes.map(|size| size as usize);
    let at = |x: &[f64], transposed, rows, columns, row, column| {
        if transposed { x[row * columns + column] } else { x[column * rows + row] }
    };
    let [ta, tb] = product.operations.map(|operation| operation == T);
    let mut result = Vec::new();
    for batch in 0..product.batch as usize {
        let (a, b, c) = (&a[batch * m * k..], &b[batch * k * n..], &c[batch * m * n..]);
        for column in 0..n {
            for row in 0..m {
                let sum: f64 = (0..k).map(|p| at(a, ta, m, k, row, p) * at(b, tb, k, n, p, column)).sum();
                result.push(2.0 * sum - c[column * m + row]);
            }
        }
    }
    result
}

fn agrees<E: Copy + Default, S>(types: [u32; 2], [two, minus]: [S; 2], to: fn(f64) -> E, from: fn(E) -> f64)
where
    S: Copy,
{
    for operations in [[N, N], [N, T], [T, N], [T, T]] {
        for (sizes, batch) in [([3, 2, 4], 1), ([1, 5, 3], 2), ([4, 1, 1], 3), ([2, 3, 0], 1)] {
            let product = Product::new(operations, sizes, batch, types);
            let [m, n, k] = sizes.map(|size| (size * batch) as usize);
            let (n_one, k_one) = (n / batch as usize, k / batch as usize);
            let (a, b, c) = (integers(m * k_one, 1), integers(k * n_one, 2), integers(m * n_one, 3));
            let [da, db, dc] = [&a, &b, &c].map(|x| upload(&x.iter().map(|&x| to(x)).collect::<Vec<E>>()));
            assert_eq!(product.run([two, minus], [da, db, dc]), 0);
            let result: Vec<f64> = download::<E>(dc, c.len()).unwrap().into_iter().map(from).collect();
            assert_eq!(result, expected(&product, &a, &b, &c), "{operations:?} {sizes:?} × {batch}, types {types:?}");
        }
    }
}

#[test]
fn products_agree_with_the_definition_in_every_type() {
    with_device(WELL);
    for compute in [68, 74, 75, 77] {
        agrees([0, compute], [2_f32, -1.0], |x| x as f32, f64::from);
    }
    agrees([1, 70], [2_f64, -1.0], |x| x, |x| x);
    agrees([2, 64], [2_f64, -1.0].map(f16::from_f64), f16::from_f64, f16::to_f64);
    agrees([2, 68], [2_f32, -1.0], f16::from_f64, f16::to_f64);
    agrees([14, 68], [2_f32, -1.0], bf16::from_f64, bf16::to_f64);
}

#[test]
fn a_factor_of_zero_does_not_read_the_result() {
    with_device(WELL);
    let [a, b, c] = [upload(&[2_f32]), upload(&[3_f32]), upload(&[f32::NAN])];
    assert_eq!(Product::new([N, N], [1, 1, 1], 1, [0, 68]).run([1_f32, 0.0], [a, b, c]), 0);
    assert_eq!(download(c, 1), Ok(vec![6_f32]));
}

#[test]
fn half_sums_round_at_each_step_and_single_sums_do_not() {
    with_device(WELL);
    let ones = upload(&[f16::ONE; 4096]);
    let c = upload(&[f16::ZERO]);
    let product = Product::new([T, N], [1, 1, 4096], 1, [2, 64]);
    assert_eq!(product.run([f16::ONE, f16::ZERO], [ones, ones, c]), 0);
    assert_eq!(download(c, 1), Ok(vec![f16::from_f32(2048.0)]), "2048 + 1 rounds to 2048");
    assert_eq!(Product { compute: 68, ..product }.run([1_f32, 0.0], [ones, ones, c]), 0);
    assert_eq!(download(c, 1), Ok(vec![f16::from_f32(4096.0)]));
}

#[test]
fn tensor_cores_drop_the_last_bits_of_the_factors() {
    with_device(WELL);
    let x = 1.0 + f32::EPSILON;
    let [a, b, c] = [upload(&[x]), upload(&[1_f32]), upload(&[0_f32])];
    // They load 16 bytes at a time; other matrices are multiplied without them.
    for (compute, leading, expected) in [(68, 4, x), (77, 4, 1.0), (77, 1, x)] {
        let product = Product { leading: [leading; 3], ..Product::new([N, N], [1, 1, 1], 1, [0, compute]) };
        assert_eq!(product.run([1_f32, 0.0], [a, b, c]), 0);
        assert_eq!(download(c, 1), Ok(vec![expected]));
    }
}

#[test]
fn inconsistent_sizes_are_refused_and_empty_ones_touch_nothing() {
    with_device(WELL);
    let product = Product::new([N, N], [2, 2, 2], 1, [0, 68]);
    let one = [1_f32, 0.0];
    assert_eq!(Product { leading: [1, 2, 2], ..product }.run(one, [0; 3]), 7);
    assert_eq!(Product { leading: [2, 2, 0], ..product }.run(one, [0; 3]), 7);
    assert_eq!(Product { sizes: [2, -1, 2], ..product }.run(one, [0; 3]), 7);
    assert_eq!(Product { batch: 0, ..product }.run(one, [0; 3]), 0);
    assert_eq!(Product { sizes: [2, 0, 2], ..product }.run(one, [0; 3]), 0);
    assert_eq!(Product { data_type: 3, ..product }.run(one, [0; 3]), 15);
}

#[test]
fn only_the_elements_of_a_matrix_need_to_exist() {
    with_device(WELL);
    // Two columns of two rows, three apart: the fifth element is the last.
    let [a, b, c] = [upload(&[1_f32, 0.0, 9.0, 0.0, 1.0]), upload(&[1_f32, 2.0, 3.0, 4.0]), allocate(16)];
    let product = Product { leading: [3, 2, 2], ..Product::new([N, N], [2, 2, 2], 1, [0, 68]) };
    assert_eq!(product.run([1_f32, 0.0], [a, b, c]), 0);
    assert_eq!(download(c, 4), Ok(vec![1_f32, 2.0, 3.0, 4.0]));
}

#[test]
fn a_product_out_of_range_is_a_fault_that_comes_late() {
    with_device(BROKEN_BY_BLAS);
    let product = Product::new([N, N], [2, 2, 2], 1, [0, 68]);
    let [a, b, c] = [upload(&[0_f32; 3]), upload(&[0_f32; 4]), upload(&[0_f32; 4])];
    assert_eq!(product.run([1_f32, 0.0], [a, b, c]), 0);
    assert_eq!(cuCtxSynchronize(), 700);
}

#[test]
fn the_message_about_a_product_names_the_matrix_and_the_element() {
    let said = said_in(INVALID_ADDRESS_TEST);
    let expected = "\
========= Invalid __global__ read of size 4 bytes
=========     at cublasGemmStridedBatchedEx()
=========     Access to 0x400001800000000c is out of bounds
=========     and is 0 bytes after the nearest allocation of size 12 bytes
=========     the element is that of A in row 1, column 1, batch 0
=========     allocated before the first launch
=========     bytes: 00 00 00 00 00 00 00 00 00 00 00 00 [-- -- -- --]
";
    assert_eq!(said, expected);
}

#[test]
fn a_result_out_of_range_is_a_write() {
    with_device(BROKEN_BY_RESULT);
    let product = Product::new([N, N], [2, 2, 2], 3, [0, 68]);
    let [a, b, c] = [upload(&[0_f32; 12]), upload(&[0_f32; 12]), upload(&[0_f32; 9])];
    assert_eq!(product.run([1_f32, 0.0], [a, b, c]), 0);
    assert_eq!(cuCtxSynchronize(), 700);
}

#[test]
fn the_message_about_a_result_names_the_batch() {
    let said = said_in("blas::a_result_out_of_range_is_a_write");
    assert!(said.starts_with("========= Invalid __global__ write of size 4 bytes\n"), "{said}");
    assert!(said.contains("the element is that of C in row 1, column 0, batch 2\n"), "{said}");
}

#[test]
fn a_large_product_is_right() {
    with_device(WELL);
    let matrix = upload(&vec![1_f32; 256 * 256]);
    let result = allocate(256 * 256 * 4);
    let product = Product::new([T, N], [256, 256, 256], 1, [0, 68]);
    assert_eq!(product.run([1_f32, 0.0], [matrix, matrix, result]), 0);
    assert_eq!(download(result, 256 * 256), Ok(vec![256_f32; 256 * 256]));
}
