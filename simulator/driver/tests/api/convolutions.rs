//! Convolutions of cuDNN and their gradients, against loops over every index.

use crate::{WELL, allocate, download, upload, with_device};
use cuda::api::cudnn::{convolutions::*, descriptors::*, operations::*, *};
use half::{bf16, f16};
use std::ffi::{c_int, c_void};

// Values of `cudnnDataType_t`.
const FLOAT: u32 = 0;
const DOUBLE: u32 = 1;
const HALF: u32 = 2;
const BFLOAT16: u32 = 9;

pub const IMPLICIT: u32 = 0;

/// A convolution in three dimensions of space. Those of the input and the filter are the batch, the channels, and the sizes.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub x: [c_int; 5],
    pub w: [c_int; 5],
    pub pads: [c_int; 3],
    pub strides: [c_int; 3],
    pub dilations: [c_int; 3],
    pub groups: c_int,
    /// 0 flips the filter.
    pub mode: u32,
    pub data_type: u32,
    pub compute: u32,
    pub algorithm: u32,
}

/// In one plane, with floats.
pub const PLAIN: Case = Case {
    x: [2, 3, 1, 5, 6],
    w: [4, 3, 1, 3, 2],
    pads: [0; 3],
    strides: [1; 3],
    dilations: [1; 3],
    groups: 1,
    mode: 1,
    data_type: FLOAT,
    compute: FLOAT,
    algorithm: IMPLICIT,
};

/// The handles of a convolution.
pub struct Handles {
    pub dnn: usize,
    pub x: usize,
    pub w: usize,
    pub convolution: usize,
    pub y: usize,
}

impl Case {
    pub fn y(&self) -> [c_int; 5] {
        let size = |d: usize| {
            let reach = (self.w[d + 2] - 1) * self.dilations[d] + 1;
            (self.x[d + 2] + 2 * self.pads[d] - reach) / self.strides[d] + 1
        };
        [self.x[0], self.w[0], size(0), size(1), size(2)]
    }

    /// Without the depth, if it is one everywhere.
    fn without_depth(&self, sizes: &[c_int]) -> Vec<c_int> {
        let (mut sizes, depth) = (sizes.to_vec(), sizes.len() - 3);
        if self.x[2] == 1 && self.w[2] == 1 {
            sizes.remove(depth);
        }
        sizes
    }

    /// Sets descriptors of packed tensors.
    pub fn handles(&self) -> Handles {
        let mut made = Handles { dnn: 0, x: 0, w: 0, convolution: 0, y: 0 };
        let Handles { dnn, x, w, convolution, y } = &mut made;
        let [pads, strides, dilations] =
            [self.pads, self.strides, self.dilations].map(|sizes| self.without_depth(&sizes));
        let dims = [self.x, self.w, self.y()].map(|sizes| self.without_depth(&sizes));
        let rank = dims[0].len() as c_int;
        unsafe {
            assert_eq!(cudnnCreate(dnn), 0);
            for (handle, dims) in [(&mut *x, &dims[0]), (&mut *y, &dims[2])] {
                assert_eq!(cudnnCreateTensorDescriptor(handle), 0);
                assert_eq!(cudnnSetTensorNdDescriptorEx(*handle, 0, self.data_type, rank, dims.as_ptr()), 0);
            }
            assert_eq!(cudnnCreateFilterDescriptor(w), 0);
            assert_eq!(cudnnSetFilterNdDescriptor(*w, self.data_type, 0, rank, dims[1].as_ptr()), 0);
            assert_eq!(cudnnCreateConvolutionDescriptor(convolution), 0);
            assert_eq!(cudnnSetConvolutionGroupCount(*convolution, self.groups), 0);
            let [pads, strides, dilations] = [&pads, &strides, &dilations].map(Vec::as_ptr);
            let (to, mode, compute) = (*convolution, self.mode, self.compute);
            assert_eq!(cudnnSetConvolutionNdDescriptor(to, rank - 2, pads, strides, dilations, mode, compute), 0);
        }
        made
    }

    /// Calls `f` with the places of each element of the input, the filter and the output that belong together.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let (x, w, y) = (self.x, self.w, self.y());
        let outputs = w[0] / self.groups;
        for n in 0..x[0] {
            for k in 0..w[0] {
                for c in 0..w[1] {
                    for o in indices([y[2], y[3], y[4]]) {
                        for t in indices([w[2], w[3], w[4]]) {
                            let input = [0, 1, 2].map(|d| {
                                let tap = if self.mode == 0 { w[d + 2] - 1 - t[d] } else { t[d] };
                                o[d] * self.strides[d] + tap * self.dilations[d] - self.pads[d]
                            });
                            if (0..3).all(|d| (0..x[d + 2]).contains(&input[d])) {
                                let channel = k / outputs * w[1] + c;
                                let [ix, iy, iw] = [input, o, t];
                                let xi = place(x, [n, channel, ix[0], ix[1], ix[2]]);
                                let wi = place(w, [k, c, iw[0], iw[1], iw[2]]);
                                f(xi, wi, place(y, [n, k, iy[0], iy[1], iy[2]]));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Runs the convolution, or its gradient of the input (1) or the filter (2), and returns the code.
    pub fn run(
        &self,
        made: &Handles,
        which: usize,
        [x, w, y]: [u64; 3],
        workspace: (u64, usize),
        factors: [f64; 2],
    ) -> u32 {
        let narrow = factors.map(|factor| factor as f32);
        let [alpha, beta]: [*const c_void; 2] = [0, 1].map(|at| {
            if self.data_type == DOUBLE { (&raw const factors[at]).cast() } else { (&raw const narrow[at]).cast() }
        });
        let &Handles { dnn, x: dx, w: dw, convolution, y: dy } = made;
        let (algorithm, (space, bytes)) = (self.algorithm, workspace);
        unsafe {
            match which {
                0 => {
                    cudnnConvolutionForward(dnn, alpha, dx, x, dw, w, convolution, algorithm, space, bytes, beta, dy, y)
                }
                1 => cudnnConvolutionBackwardData(
                    dnn,
                    alpha,
                    dw,
                    w,
                    dy,
                    y,
                    convolution,
                    algorithm,
                    space,
                    bytes,
                    beta,
                    dx,
                    x,
                ),
                _ => cudnnConvolutionBackwardFilter(
                    dnn,
                    alpha,
                    dx,
                    x,
                    dy,
                    y,
                    convolution,
                    algorithm,
                    space,
                    bytes,
                    beta,
                    dw,
                    w,
                ),
            }
        }
    }
}

/// Every index of three dimensions.
fn indices([a, b, c]: [c_int; 3]) -> impl Iterator<Item = [c_int; 3]> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

/// The place of an index in a packed tensor.
fn place(dims: [c_int; 5], index: [c_int; 5]) -> usize {
    dims.iter().zip(index).fold(0, |place, (&dim, at)| place * dim as usize + at as usize)
}

pub fn count(dims: [c_int; 5]) -> usize {
    dims.iter().product::<c_int>() as usize
}

/// Small integers, so that every sum is exact in every type.
pub fn integers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7 + seed) % 5) as f64 - 2.0).collect()
}

/// Whether `2 * result - old`, and that without the old numbers, are those of the loops, for the convolution and both gradients.
fn agrees<E: Copy + Default>(case: Case, to: fn(f64) -> E, from: fn(E) -> f64) {
    let sizes = [count(case.x), count(case.w), count(case.y())];
    let values: Vec<_> = sizes.iter().zip([1, 2, 3]).map(|(&size, seed)| integers(size, seed)).collect();
    let made = case.handles();
    for (which, result) in [(0, 2), (1, 0), (2, 1)] {
        let mut expected = vec![0.0; sizes[result]];
        case.each(|x, w, y| match which {
            0 => expected[y] += values[0][x] * values[1][w],
            1 => expected[x] += values[1][w] * values[2][y],
            _ => expected[w] += values[0][x] * values[2][y],
        });
        for beta in [0.0, -1.0] {
            let addresses = [0, 1, 2].map(|at| upload(&values[at].iter().map(|&x| to(x)).collect::<Vec<E>>()));
            let workspace = (allocate(4096), 4096);
            assert_eq!(case.run(&made, which, addresses, workspace, [2.0, beta]), 0, "{case:?}");
            let found: Vec<f64> =
                download::<E>(addresses[result], sizes[result]).unwrap().into_iter().map(from).collect();
            let expected: Vec<f64> =
                expected.iter().zip(&values[result]).map(|(x, old)| 2.0 * x + beta * old).collect();
            assert_eq!(found, expected, "{case:?}, gradient {which}, beta {beta}");
        }
    }
}

/// What can differ from the plain convolution.
fn cases() -> Vec<Case> {
    let wide = Case { x: [1, 2, 1, 7, 8], w: [3, 2, 1, 3, 3], ..PLAIN };
    vec![
        PLAIN,
        Case { mode: 0, ..PLAIN },
        Case { algorithm: 1, ..PLAIN },
        Case { pads: [0, 2, 1], ..PLAIN },
        Case { strides: [1, 2, 3], pads: [0, 1, 0], ..PLAIN },
        Case { dilations: [1, 2, 3], pads: [0, 0, 2], ..wide },
        Case { strides: [1, 3, 2], dilations: [1, 2, 1], pads: [0, 2, 4], mode: 0, ..wide },
        Case { x: [2, 6, 1, 4, 4], w: [4, 3, 1, 2, 2], groups: 2, ..PLAIN },
        Case { x: [1, 4, 1, 4, 5], w: [8, 1, 1, 3, 3], groups: 4, pads: [0, 1, 1], ..PLAIN },
        // In a line, as candle has it, and with a filter of one element.
        Case { x: [2, 3, 1, 9, 1], w: [2, 3, 1, 4, 1], pads: [0, 1, 0], strides: [1, 2, 1], ..PLAIN },
        Case { x: [2, 3, 1, 4, 5], w: [2, 3, 1, 1, 1], ..PLAIN },
        Case { x: [2, 3, 1, 1, 1], w: [2, 3, 1, 1, 1], ..PLAIN },
        Case { x: [2, 3, 1, 4, 5], w: [2, 3, 1, 1, 1], strides: [1, 2, 2], ..PLAIN },
        Case { x: [1, 2, 3, 4, 5], w: [2, 2, 2, 3, 2], pads: [1, 0, 1], strides: [2, 1, 1], ..PLAIN },
    ]
}

#[test]
fn convolutions_and_their_gradients_agree_with_loops() {
    with_device(WELL);
    for case in cases() {
        agrees(case, |x| x as f32, f64::from);
    }
}

#[test]
fn convolutions_agree_in_every_type() {
    with_device(WELL);
    let case = Case { pads: [0, 1, 1], x: [2, 4, 1, 5, 6], w: [4, 2, 1, 3, 2], groups: 2, ..PLAIN };
    agrees(Case { data_type: DOUBLE, compute: DOUBLE, ..case }, |x| x, |x| x);
    agrees(Case { data_type: HALF, ..case }, f16::from_f64, f16::to_f64);
    agrees(Case { data_type: HALF, compute: HALF, ..case }, f16::from_f64, f16::to_f64);
    agrees(Case { data_type: BFLOAT16, ..case }, bf16::from_f64, bf16::to_f64);
}

#[test]
fn sums_of_halves_are_floats() {
    with_device(WELL);
    let case = Case { x: [1, 4096, 1, 1, 1], w: [1, 4096, 1, 1, 1], data_type: HALF, ..PLAIN };
    let [x, w, y] = [upload(&[f16::ONE; 4096]), upload(&[f16::ONE; 4096]), allocate(2)];
    assert_eq!(case.run(&case.handles(), 0, [x, w, y], (0, 0), [1.0, 0.0]), 0);
    assert_eq!(download(y, 1), Ok(vec![f16::from_f32(4096.0)]), "halves would stay at 2048");
}

#[test]
fn views_and_the_other_format_are_read_by_their_strides() {
    with_device(WELL);
    let (case, made) = (PLAIN, PLAIN.handles());
    let values = [integers(count(case.x), 1), integers(count(case.w), 2)];
    let [n, c, h, w] = [2_usize, 3, 5, 6];
    // Channels last; columns before rows with a gap between images; and one image for all, as `broadcast_as` has it.
    let layouts: [[usize; 4]; 3] = [[h * w * c, 1, w * c, c], [c * h * w + 7, h * w, 1, h], [0, h * w, w, 1]];
    for strides in layouts {
        let mut stored = vec![f32::NAN; 256];
        let mut logical = vec![0.0; n * c * h * w];
        for (at, [image, rest]) in (0..n * c * h * w).map(|at| (at, [at / (c * h * w), at % (c * h * w)])) {
            let index = [image, rest / (h * w), rest / w % h, rest % w];
            let to: usize = index.iter().zip(strides).map(|(i, stride)| i * stride).sum();
            logical[at] = values[0][if strides[0] == 0 { rest } else { at }];
            stored[to] = logical[at] as f32;
        }
        let [s0, s1, s2, s3] = strides.map(|stride| stride as c_int);
        assert_eq!(cudnnSetTensor4dDescriptorEx(made.x, FLOAT, 2, 3, 5, 6, s0, s1, s2, s3), 0);
        let filter: Vec<f32> = values[1].iter().map(|&x| x as f32).collect();
        let [x, w, y] = [upload(&stored), upload(&filter), allocate(4 * count(case.y()))];
        assert_eq!(case.run(&made, 0, [x, w, y], (0, 0), [1.0, 0.0]), 0);
        let mut expected = vec![0_f32; count(case.y())];
        case.each(|x, w, y| expected[y] += (logical[x] * values[1][w]) as f32);
        assert_eq!(download(y, expected.len()), Ok(expected), "strides {strides:?}");
    }
}
