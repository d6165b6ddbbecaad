//! Products of cuBLASLt, and those whose matrices are named by pointers in device memory.

use crate::{WELL, download, said_in, upload, with_device};
use cuda::api::cublas::{cublasCreate_v2, pointer_arrays::*, products::cublasSgemmBatched};
use cuda::api::cublaslt::{descriptions::*, *};
use std::ffi::c_void;
use std::ptr;

const F32: u32 = 0;
const COMPUTE_F32: u32 = 68;

fn layout(rows: u64, columns: u64) -> usize {
    let mut handle = 0;
    assert_eq!(unsafe { cublasLtMatrixLayoutCreate(&raw mut handle, F32, rows, columns, rows as i64) }, 0);
    handle
}

fn set<T: Copy>(handle: usize, attribute: u32, value: T) -> u32 {
    unsafe { cublasLtMatmulDescSetAttribute(handle, attribute, (&raw const value).cast(), size_of::<T>()) }
}

/// `D = A B + beta C`, with an epilogue, of matrices of two rows and columns.
fn multiply(epilogue: u32, beta: f32, [a, b, c, d, bias]: [u64; 5]) -> u32 {
    let (mut handle, mut operation, mut preference) = (0, 0, 0);
    let (mut choice, mut found) = (Choice::default(), 0);
    let square = layout(2, 2);
    let alpha = 1_f32;
    unsafe {
        assert_eq!(cublasLtCreate(&raw mut handle), 0);
        assert_eq!(cublasLtMatmulDescCreate(&raw mut operation, COMPUTE_F32, F32), 0);
        assert_eq!(cublasLtMatmulPreferenceCreate(&raw mut preference), 0);
        assert_eq!((set(operation, 7, epilogue), set(operation, 8, bias)), (0, 0));
        let chosen = cublasLtMatmulAlgoGetHeuristic(
            handle,
            operation,
            square,
            square,
            square,
            square,
            preference,
            1,
            &raw mut choice,
            &raw mut found,
        );
        assert_eq!((chosen, found), (0, 1));
        let (alpha, beta): (*const c_void, *const c_void) = ((&raw const alpha).cast(), (&raw const beta).cast());
        let code = cublasLtMatmul(
            handle,
            operation,
            alpha,
            a,
            square,
            b,
            square,
            beta,
            c,
            square,
            d,
            square,
            ptr::null(),
            0,
            0,
            0,
        );
        assert_eq!(cublasLtMatrixLayoutDestroy(square), 0);
        assert_eq!((cublasLtMatmulDescDestroy(operation), cublasLtMatmulDescDestroy(operation)), (0, 7));
        assert_eq!((cublasLtMatmulPreferenceDestroy(preference), cublasLtDestroy(handle)), (0, 0));
        code
    }
}

#[test]
fn a_product_gets_its_bias_and_its_activation() {
    with_device(WELL);
    let (a, b) = (upload(&[1_f32, 0.0, 0.0, 1.0]), upload(&[1_f32, -3.0, -2.0, 4.0]));
    let (c, bias) = (upload(&[10_f32, 20.0, 30.0, 40.0]), upload(&[1_f32, 2.0]));
    for (epilogue, beta, expected) in [
        (1, 0.0, [1_f32, -3.0, -2.0, 4.0]),
        (1, 1.0, [11.0, 17.0, 28.0, 44.0]),
        (2, 0.0, [1.0, 0.0, 0.0, 4.0]),
        (4, 0.0, [2.0, -1.0, -1.0, 6.0]),
        (6, 0.0, [2.0, 0.0, 0.0, 6.0]),
    ] {
        let d = upload(&[f32::NAN; 4]);
        assert_eq!(multiply(epilogue, beta, [a, b, c, d, bias]), 0);
        assert_eq!(download(d, 4), Ok(expected.to_vec()), "epilogue {epilogue}, beta {beta}");
    }
    assert_eq!(download(c, 4), Ok(vec![10_f32, 20.0, 30.0, 40.0]), "C is read only");
    // By the formula with tanh: 0.5 (1 + tanh(sqrt(2 / pi) (1 + 0.044715))) = 0.841192.
    let d = upload(&[0_f32; 4]);
    assert_eq!(multiply(32, 0.0, [a, b, c, d, bias]), 0);
    let found = download::<f32>(d, 4).expect("it is there");
    assert!((found[0] - 0.841_192).abs() < 1e-6, "{found:?}");
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let said = said_in("described_products::an_unknown_epilogue_and_attribute_are_not_supported");
    assert!(said.contains("epilogue 128 of cuBLASLt"), "{said}");
    assert!(said.contains("attribute 17 of a product of cuBLASLt"), "{said}");
}

#[test]
fn an_unknown_epilogue_and_attribute_are_not_supported() {
    with_device(WELL);
    let buffer = upload(&[0_f32; 4]);
    assert_eq!(multiply(128, 0.0, [buffer; 5]), 15);
    let mut operation = 0;
    assert_eq!(unsafe { cublasLtMatmulDescCreate(&raw mut operation, COMPUTE_F32, F32) }, 0);
    assert_eq!(set(operation, 17, 0_u64), 15);
    assert_eq!(set(operation, 3, 0_u64), 7, "an attribute of four bytes");
    assert_eq!(set(layout(1, 1), 3, 0_u32), 7, "a layout is no product");
}

#[test]
fn pointers_name_the_matrices_of_a_batch() {
    with_device(WELL);
    let [a, b] = [[2_f32, 3.0], [5.0, 7.0]].map(|values| values.map(|value| upload(&[value])));
    let c = [upload(&[0_f32]), upload(&[0_f32])];
    let arrays = [a, b, c].map(|pointers| upload(&pointers));
    let (mut handle, factors) = (0, [1_f32, 0.0]);
    let [alpha, beta] = [0, 1].map(|at| factors.as_ptr().wrapping_add(at).cast());
    let [pa, pb, pc] = arrays;
    unsafe {
        assert_eq!(cublasCreate_v2(&raw mut handle), 0);
        assert_eq!(cublasSgemmBatched(handle, 0, 0, 1, 1, 1, alpha, pa, 1, pb, 1, beta, pc, 1, 2), 0);
    }
    assert_eq!(c.map(|address| download(address, 1)), [Ok(vec![10_f32]), Ok(vec![21_f32])]);
    // Two groups of one product each, with factors of their own.
    let (ones, operations, alphas, betas) = ([1; 2], [0_u32; 2], [1_f32, 2.0], [0_f32; 2]);
    let code = unsafe {
        cublasGemmGroupedBatchedEx(
            handle,
            operations.as_ptr(),
            operations.as_ptr(),
            ones.as_ptr(),
            ones.as_ptr(),
            ones.as_ptr(),
            alphas.as_ptr().cast(),
            pa,
            F32,
            ones.as_ptr(),
            pb,
            F32,
            ones.as_ptr(),
            betas.as_ptr().cast(),
            pc,
            F32,
            ones.as_ptr(),
            2,
            ones.as_ptr(),
            COMPUTE_F32,
        )
    };
    assert_eq!(code, 0);
    assert_eq!(c.map(|address| download(address, 1)), [Ok(vec![10_f32]), Ok(vec![42_f32])]);
}
