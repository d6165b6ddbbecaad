//! What is reported of the operands of cuDNN: elements out of bounds, elements that were never written, and other streams.

use crate::convolutions::{Case, PLAIN, count};
use crate::{WELL, allocate, download, in_own_context, said_in, upload, with_device};
use cuda::api::cudnn::cudnnSetStream;
use cuda::api::driver::{context::cuCtxSynchronize, stream::cuStreamCreate};

/// Operands of which each lacks so many elements.
fn operands(case: Case, lacks: [usize; 3]) -> [u64; 3] {
    let sizes = [count(case.x), count(case.w), count(case.y())];
    [0, 1, 2].map(|at| upload(&vec![0_f32; sizes[at] - lacks[at]]))
}

#[test]
fn an_input_out_of_range_is_a_fault_that_comes_late() {
    in_own_context(|| {
        assert_eq!(PLAIN.run(&PLAIN.handles(), 0, operands(PLAIN, [1, 0, 0]), (0, 0), [1.0, 0.0]), 0);
        assert_eq!(cuCtxSynchronize(), 700);
    });
}

#[test]
fn the_message_names_the_function_and_the_element() {
    let said = said_in("dnn_reports::an_input_out_of_range_is_a_fault_that_comes_late");
    assert!(said.starts_with("========= Invalid __global__ read of size 4 bytes\n"), "{said}");
    assert!(said.contains("at cudnnConvolutionForward()\n"), "{said}");
    assert!(said.contains("and is 0 bytes after the nearest allocation of size 716 bytes\n"), "{said}");
    assert!(said.contains("the element is that of x at [1, 2, 4, 5]\n"), "{said}");
}

#[test]
fn a_gradient_out_of_range_is_a_write() {
    in_own_context(|| {
        assert_eq!(PLAIN.run(&PLAIN.handles(), 2, operands(PLAIN, [0, 2, 0]), (0, 0), [1.0, 0.0]), 0);
        assert_eq!(cuCtxSynchronize(), 700);
    });
}

#[test]
fn the_message_about_a_gradient_names_it() {
    let said = said_in("dnn_reports::a_gradient_out_of_range_is_a_write");
    assert!(said.starts_with("========= Invalid __global__ write of size 4 bytes\n"), "{said}");
    assert!(said.contains("at cudnnConvolutionBackwardFilter()\n"), "{said}");
    assert!(said.contains("the element is that of dw at [3, 2, 2, 0]\n"), "{said}");
}

#[test]
fn a_workspace_that_is_smaller_than_said_is_a_fault() {
    in_own_context(|| {
        let case = Case { algorithm: 1, ..PLAIN };
        assert_eq!(case.run(&case.handles(), 0, operands(case, [0; 3]), (allocate(8), 4096), [1.0, 0.0]), 0);
        assert_eq!(cuCtxSynchronize(), 700);
    });
}

#[test]
fn the_message_about_a_workspace_names_it() {
    let said = said_in("dnn_reports::a_workspace_that_is_smaller_than_said_is_a_fault");
    assert!(said.contains("Invalid __global__ write"), "{said}");
    assert!(said.contains("the bytes are those of the workspace\n"), "{said}");
}

/// An image of four by four whose last element was never written, and a filter of two by two.
fn partly_written() {
    with_device(WELL);
    let case = Case { x: [1, 1, 1, 4, 4], w: [1, 1, 1, 2, 2], ..PLAIN };
    let (x, y) = (allocate(64), allocate(36));
    let written = upload(&[1_f32; 15]);
    let copied = cuda::api::driver::memory::cuMemcpyDtoDAsync_v2(x, written, 60, 0);
    assert_eq!(copied, 0);
    assert_eq!(case.run(&case.handles(), 0, [x, upload(&[1_f32; 4]), y], (0, 0), [1.0, 0.0]), 0);
    assert_eq!(download::<f32>(y, 8), Ok(vec![4.0; 8]));
    assert!(download::<f32>(y, 9).is_ok());
}

#[test]
fn only_results_of_elements_that_were_never_written_are_undefined() {
    partly_written();
}

#[test]
fn reading_such_a_result_is_reported() {
    let said = said_in("dnn_reports::only_results_of_elements_that_were_never_written_are_undefined");
    assert_eq!(
        said.matches("Uninitialized __global__ memory read by a copy to the host: 4 of 36 bytes").count(),
        1,
        "{said}"
    );
    assert_eq!(said.matches("Uninitialized").count(), 1, "{said}");
}

#[test]
fn work_in_another_stream_is_not_ordered() {
    with_device(WELL);
    let (made, [x, w, y]) = (PLAIN.handles(), operands(PLAIN, [0; 3]));
    let mut streams = [0; 2];
    for stream in &mut streams {
        assert_eq!(unsafe { cuStreamCreate(stream, 1) }, 0);
    }
    assert_eq!(cuCtxSynchronize(), 0);
    for stream in streams {
        assert_eq!(cudnnSetStream(made.dnn, stream), 0);
        assert_eq!(PLAIN.run(&made, 0, [x, w, y], (0, 0), [1.0, 0.0]), 0);
    }
}

#[test]
fn the_other_stream_is_reported() {
    let said = said_in("dnn_reports::work_in_another_stream_is_not_ordered");
    let expected =
        "Stream order: `cudnnConvolutionForward` writes what `cudnnConvolutionForward` writes in another stream";
    assert_eq!(said.matches(expected).count(), 1, "{said}");
}
