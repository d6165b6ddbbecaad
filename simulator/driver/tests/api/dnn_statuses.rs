//! What cuDNN refuses, and which algorithms it names.

use crate::convolutions::{Case, Handles, PLAIN, count};
use crate::{WELL, said_in, upload, with_device};
use cuda::api::cudnn::{algorithms::*, descriptors::*, operations::*, status_names::*};
use std::ffi::CStr;
use std::ptr;

const BAD_PARAM: u32 = 2000;
const NOT_SUPPORTED: u32 = 3000;
const FLOAT: u32 = 0;

/// The code of a convolution with these changes, on operands that exist.
fn code_of(case: Case, change: impl FnOnce(&Handles)) -> u32 {
    let made = case.handles();
    change(&made);
    let operands = [count(case.x), count(case.w), count(case.y())].map(|size| upload(&vec![0_f64; size]));
    case.run(&made, 0, operands, (0, 0), [1.0, 0.0])
}

#[test]
fn descriptors_that_do_not_fit_are_refused() {
    with_device(WELL);
    assert_eq!(code_of(PLAIN, |_| {}), 0);
    let y = |n, c, h, w| {
        move |made: &Handles| {
            assert_eq!(cudnnSetTensor4dDescriptor(made.y, 0, FLOAT, n, c, h, w), 0);
        }
    };
    assert_eq!(code_of(PLAIN, y(2, 4, 3, 5)), 0);
    assert_eq!(code_of(PLAIN, y(1, 4, 3, 5)), BAD_PARAM, "another batch");
    assert_eq!(code_of(PLAIN, y(2, 5, 3, 5)), BAD_PARAM, "other channels");
    assert_eq!(code_of(PLAIN, y(2, 4, 3, 4)), NOT_SUPPORTED, "another size");
    let groups = |groups| {
        move |made: &Handles| {
            assert_eq!(cudnnSetConvolutionGroupCount(made.convolution, groups), 0);
        }
    };
    assert_eq!(code_of(PLAIN, groups(2)), BAD_PARAM, "six channels and not three");
    let x = |data_type, stride| {
        move |made: &Handles| {
            assert_eq!(cudnnSetTensor4dDescriptorEx(made.x, data_type, 2, 3, 5, 6, 90, 30, 6, stride), 0);
        }
    };
    assert_eq!(code_of(PLAIN, x(1, 1)), BAD_PARAM, "another type");
    assert_eq!(code_of(PLAIN, x(FLOAT, -1)), NOT_SUPPORTED);
    for (algorithm, expected) in [(1, BAD_PARAM), (3, NOT_SUPPORTED), (6, NOT_SUPPORTED), (8, BAD_PARAM)] {
        assert_eq!(code_of(Case { algorithm, ..PLAIN }, |_| {}), expected, "algorithm {algorithm}, without workspace");
    }
    for (data_type, compute) in [(1, FLOAT), (FLOAT, 2), (9, 9), (6, 6)] {
        assert_eq!(code_of(Case { data_type, compute, ..PLAIN }, |_| {}), NOT_SUPPORTED, "{data_type} in {compute}");
    }
    let made = PLAIN.handles();
    assert_eq!(PLAIN.run(&made, 0, [0; 3], (0, 0), [1.0, 0.0]), BAD_PARAM, "no data");
    assert_eq!(cudnnSetTensor4dDescriptor(made.x, 0, FLOAT, 0, 1, 1, 1), BAD_PARAM);
    assert_eq!(cudnnSetTensor4dDescriptor(made.x, 0, FLOAT, 1 << 11, 1 << 10, 1 << 10, 1), NOT_SUPPORTED);
    assert_eq!(cudnnSetTensor4dDescriptor(made.w, 0, FLOAT, 1, 1, 1, 1), BAD_PARAM, "a filter is no tensor");
    assert_eq!((cudnnDestroyTensorDescriptor(made.x), cudnnDestroyTensorDescriptor(made.x)), (0, BAD_PARAM));
    assert_eq!(unsafe { cudnnSetTensorNdDescriptor(made.y, FLOAT, 3, ptr::null(), ptr::null()) }, NOT_SUPPORTED);
    let text = unsafe { CStr::from_ptr(cudnnGetErrorString(BAD_PARAM)) };
    assert_eq!(text, c"CUDNN_STATUS_BAD_PARAM");
}

#[test]
fn algorithms_come_with_their_workspace_and_the_best_first() {
    with_device(WELL);
    let made = PLAIN.handles();
    let (mut found, mut all) = (0, [Performance::default(); 8]);
    unsafe {
        let code = cudnnGetConvolutionForwardAlgorithm_v7(
            made.dnn,
            made.x,
            made.w,
            made.convolution,
            made.y,
            8,
            &raw mut found,
            all.as_mut_ptr(),
        );
        assert_eq!((code, found), (0, 8));
        assert_eq!((all[0].algorithm, all[0].status), (1, 0));
        let unable: Vec<_> = all.iter().filter(|one| one.status != 0).map(|one| (one.algorithm, one.status)).collect();
        assert_eq!(unable, [3, 6, 7].map(|algorithm| (algorithm, NOT_SUPPORTED)), "the filter is three by two");
        for one in &all {
            let mut bytes = 0;
            let code = cudnnGetConvolutionForwardWorkspaceSize(
                made.dnn,
                made.x,
                made.w,
                made.convolution,
                made.y,
                one.algorithm,
                &raw mut bytes,
            );
            assert_eq!((code, bytes), (one.status, one.memory));
        }
    }
}

#[test]
fn what_cudnn_does_and_the_device_does_not_is_named() {
    let said = said_in("dnn_statuses::small_integers_are_not_supported");
    assert!(said.contains("unsupported: convolutions of cuDNN with 8-bit integers"), "{said}");
}

#[test]
fn small_integers_are_not_supported() {
    with_device(WELL);
    assert_eq!(code_of(Case { data_type: 3, compute: 4, ..PLAIN }, |_| {}), NOT_SUPPORTED);
}
