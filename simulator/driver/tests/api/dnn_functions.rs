//! cuDNN's other functions: fused convolutions, activations, softmax, pooling, reductions.

use crate::convolutions::{IMPLICIT, PLAIN, count, integers};
use crate::{WELL, allocate, download, upload, with_device};
use cuda::api::cudnn::{convolutions::*, descriptors::*, operations::*, pointwise::*, *};
use std::ffi::{c_int, c_void};

const BAD_PARAM: u32 = 2000;
const FLOAT: u32 = 0;
const MANY: u32 = 1_000_000;

fn handle() -> usize {
    let mut handle = 0;
    assert_eq!(unsafe { cudnnCreate(&raw mut handle) }, 0);
    handle
}

/// A descriptor of a packed tensor of floats.
fn tensor([n, c, h, w]: [c_int; 4]) -> usize {
    let mut handle = 0;
    assert_eq!(unsafe { cudnnCreateTensorDescriptor(&raw mut handle) }, 0);
    assert_eq!(cudnnSetTensor4dDescriptor(handle, 0, FLOAT, n, c, h, w), 0);
    handle
}

fn activation(mode: u32, coefficient: f64) -> usize {
    let mut handle = 0;
    assert_eq!(unsafe { cudnnCreateActivationDescriptor(&raw mut handle) }, 0);
    assert_eq!(cudnnSetActivationDescriptor(handle, mode, 0, coefficient), 0);
    handle
}

/// The factors 1 and 0.
fn plain() -> [*const c_void; 2] {
    static FACTORS: [f32; 2] = [1.0, 0.0];
    [0, 1].map(|at| FACTORS.as_ptr().wrapping_add(at).cast())
}

#[test]
fn a_convolution_gets_its_tensor_bias_and_activation() {
    with_device(WELL);
    let (case, made) = (PLAIN, PLAIN.handles());
    let floats = |n, seed| integers(n, seed).into_iter().map(|x| x as f32).collect::<Vec<_>>();
    let (x, w, size) = (floats(count(case.x), 1), floats(count(case.w), 2), count(case.y()));
    let (z, bias) = (floats(size, 3), [1_f32, -2.0, 3.0, 0.0]);
    let y = allocate(4 * size);
    assert_eq!(case.run(&made, 0, [upload(&x), upload(&w), y], (0, 0), [1.0, 0.0]), 0);
    let products = download::<f32>(y, size).expect("it is there");
    for (mode, factor, algorithm) in [(1, 0.5_f32, IMPLICIT), (1, 0.0, IMPLICIT), (5, 0.5, 1)] {
        let (alpha, workspace) = (2_f32, allocate(4096));
        let code = unsafe {
            cudnnConvolutionBiasActivationForward(
                made.dnn,
                (&raw const alpha).cast(),
                made.x,
                upload(&x),
                made.w,
                upload(&w),
                made.convolution,
                algorithm,
                workspace,
                4096,
                (&raw const factor).cast(),
                made.y,
                upload(&z),
                tensor([1, 4, 1, 1]),
                upload(&bias),
                activation(mode, 0.0),
                made.y,
                y,
            )
        };
        assert_eq!(code, 0);
        let finished = |(at, &product): (usize, &f32)| {
            let channel = at / (size / 8) % 4;
            let sum = 2.0 * product + factor * z[at] + bias[channel];
            if mode == 1 { sum.max(0.0) } else { sum }
        };
        assert_eq!(download(y, size), Ok(products.iter().enumerate().map(finished).collect()), "mode {mode}");
    }
}

#[test]
fn activations_are_those_of_the_documentation() {
    with_device(WELL);
    let x = [-2_f32, 0.5, 3.0, f32::NAN];
    let layout = tensor([1, 1, 2, 2]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let elu = |x: f64| if x < 0.0 { 2.0 * (x.exp() - 1.0) } else { x };
    for (mode, expected) in [
        (0, [sigmoid(-2.0), sigmoid(0.5), sigmoid(3.0), f64::NAN]),
        (1, [0.0, 0.5, 3.0, 0.0]),
        (2, [(-2_f64).tanh(), 0.5_f64.tanh(), 3_f64.tanh(), f64::NAN]),
        (3, [0.0, 0.5, 2.0, 0.0]),
        (4, [elu(-2.0), 0.5, 3.0, f64::NAN]),
        (6, [-2.0 * sigmoid(-4.0), 0.5 * sigmoid(1.0), 3.0 * sigmoid(6.0), f64::NAN]),
    ] {
        let (y, [alpha, beta]) = (allocate(16), plain());
        let code = unsafe {
            cudnnActivationForward(handle(), activation(mode, 2.0), alpha, layout, upload(&x), beta, layout, y)
        };
        assert_eq!(code, 0);
        let found = download::<f32>(y, 4).expect("it is there");
        let near = |(&found, expected): (&f32, f64)| {
            found.is_nan() && expected.is_nan() || (f64::from(found) - expected).abs() < 1e-6
        };
        assert!(found.iter().zip(expected).all(near), "mode {mode}: {found:?} and not {expected:?}");
    }
}

#[test]
fn softmax_is_over_an_image_or_over_the_channels_of_a_place() {
    with_device(WELL);
    let x: Vec<f32> = (0..12).map(|i| (i * i % 7) as f32 - 3.0).collect();
    let layout = tensor([2, 3, 1, 2]);
    for (algorithm, mode) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
        let (y, [alpha, beta]) = (allocate(48), plain());
        let code =
            unsafe { cudnnSoftmaxForward(handle(), algorithm, mode, alpha, layout, upload(&x), beta, layout, y) };
        assert_eq!(code, 0);
        for (at, found) in download::<f32>(y, 12).expect("it is there").into_iter().enumerate() {
            let (image, place) = (at / 6, at % 2);
            let joins = |other: usize| other / 6 == image && (mode == 0 || other % 2 == place);
            let sum: f64 = (0..12).filter(|&other| joins(other)).map(|other| f64::from(x[other]).exp()).sum();
            let share = f64::from(x[at]).exp() / sum;
            let expected = if algorithm == 2 { share.ln() } else { share };
            assert!(
                (f64::from(found) - expected).abs() < 1e-6,
                "{algorithm} {mode}: {found} and not {expected} at {at}"
            );
        }
    }
}

#[test]
fn windows_are_pooled() {
    with_device(WELL);
    let x = [1_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    // Windows of two by two, two apart, with a pad of one in front and behind.
    let (sizes, pads, strides): ([c_int; 2], [c_int; 2], [c_int; 2]) = ([2, 2], [1, 1], [2, 2]);
    for (mode, expected) in [
        (0, [1_f32, 3.0, 7.0, 9.0]),
        (1, [0.25, 1.25, 2.75, 7.0]),
        (2, [1.0, 2.5, 5.5, 7.0]),
        (3, [1.0, 3.0, 7.0, 9.0]),
    ] {
        let (mut pooling, y, [alpha, beta]) = (0, allocate(16), plain());
        let (from, to) = (tensor([1, 1, 3, 3]), tensor([1, 1, 2, 2]));
        unsafe {
            assert_eq!(cudnnCreatePoolingDescriptor(&raw mut pooling), 0);
            let set = cudnnSetPoolingNdDescriptor(pooling, mode, 0, 2, sizes.as_ptr(), pads.as_ptr(), strides.as_ptr());
            assert_eq!(set, 0);
            assert_eq!(cudnnPoolingForward(handle(), pooling, alpha, from, upload(&x), beta, to, y), 0);
            assert_eq!(cudnnPoolingForward(handle(), pooling, alpha, from, upload(&x), beta, from, y), BAD_PARAM);
        }
        assert_eq!(download(y, 4), Ok(expected.to_vec()), "mode {mode}");
    }
}

/// Reduces to a column, with indices, and returns both.
fn reduced(operation: u32, x: &[f32; 6]) -> (Vec<f32>, Vec<u32>) {
    let (mut reduction, (a, c)) = (0, (tensor([1, 1, 2, 3]), tensor([1, 1, 2, 1])));
    let (mut bytes, mut wanted) = ([0_usize; 2], 0);
    let (result, places, [alpha, beta]) = (allocate(8), upload(&[MANY; 2]), plain());
    unsafe {
        assert_eq!(cudnnCreateReduceTensorDescriptor(&raw mut reduction), 0);
        assert_eq!(cudnnSetReduceTensorDescriptor(reduction, operation, FLOAT, 0, 1, 0), 0);
        assert_eq!(cudnnGetReductionIndicesSize(handle(), reduction, a, c, &raw mut bytes[0]), 0);
        assert_eq!(cudnnGetReductionWorkspaceSize(handle(), reduction, a, c, &raw mut wanted), 0);
        let [index_bytes, _] = bytes;
        let space = allocate(wanted);
        let reduce = |index_bytes, wanted| {
            let from = upload(x);
            cudnnReduceTensor(handle(), reduction, places, index_bytes, space, wanted, alpha, a, from, beta, c, result)
        };
        assert_eq!(reduce(index_bytes, wanted - 1), BAD_PARAM, "the workspace is too small");
        assert_eq!(reduce(index_bytes, wanted), 0);
    }
    (download(result, 2).expect("it is there"), download(places, 2).expect("it is there"))
}

#[test]
fn rows_are_reduced() {
    with_device(WELL);
    let x = [3_f32, -4.0, 0.0, 1.0, 5.0, 2.0];
    for (operation, expected, places) in [
        (0, [-1_f32, 8.0], [MANY; 2]),
        (1, [0.0, 10.0], [MANY; 2]),
        (2, [-4.0, 1.0], [1, 0]),
        (3, [3.0, 5.0], [0, 1]),
        (4, [4.0, 5.0], [1, 1]),
        (5, [-1.0 / 3.0, 8.0 / 3.0], [MANY; 2]),
        (6, [7.0, 8.0], [MANY; 2]),
        (7, [5.0, 30_f32.sqrt()], [MANY; 2]),
        (8, [-12.0, 10.0], [MANY; 2]),
    ] {
        assert_eq!(reduced(operation, &x), (expected.to_vec(), places.to_vec()), "operation {operation}");
    }
}
