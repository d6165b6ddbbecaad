//! Kernels of candle of every class, launched as candle does it.

use simulator::{Device, FunctionId, Launch};

/// A kernel's loop in Rust: from two slices to a third.
pub type Bench = fn(&[f32], &[f32], &mut [f32]);

/// A kernel and how it is launched.
pub struct Kernel {
    pub module: &'static str,
    /// The kernel's name; after a blank, how this row differs from another of the same kernel.
    pub name: &'static str,
    /// The same in Rust.
    pub in_rust: Option<Bench>,
    shape: fn(Elements) -> Shape,
}

/// The grid, the block, the bytes of shared memory and the parameters of a launch.
struct Shape {
    grid: [usize; 3],
    block: [usize; 3],
    shared: usize,
    parameters: Vec<Parameter>,
}

enum Parameter {
    Size(usize),
    Int(usize),
    Float(f32),
    /// A new buffer of numbers, of 8 bytes for each element.
    Numbers,
    /// A buffer of these sizes: dimensions, then strides.
    Layout(Vec<usize>),
    /// A buffer of indices, the largest first.
    Indices(usize),
}
use Parameter::{Float, Indices, Int, Layout, Numbers, Size};

/// A number of elements, and as what matrix a kernel sees them.
#[derive(Clone, Copy)]
struct Elements {
    all: usize,
    rows: usize,
    columns: usize,
}

impl Elements {
    /// As square a matrix as can be.
    fn new(all: usize) -> Self {
        let rows = (1..=all).take_while(|rows| rows * rows <= all).filter(|rows| all.is_multiple_of(*rows)).last();
        let rows = rows.expect("1 is a divisor");
        Self { all, rows, columns: all / rows }
    }
}

/// A thread for each element, in blocks of 1024.
fn each(elements: usize, parameters: Vec<Parameter>) -> Shape {
    Shape { grid: [elements.div_ceil(1024), 1, 1], block: [1024, 1, 1], shared: 0, parameters }
}

/// A block for each row.
fn by_row(rows: usize, block: [usize; 3], parameters: Vec<Parameter>) -> Shape {
    Shape { grid: [rows, 1, 1], block, shared: 0, parameters }
}

/// Elements, no layout, a source and a destination.
fn map(Elements { all, .. }: Elements) -> Shape {
    each(all, vec![Size(all), Size(1), Size(0), Numbers, Numbers])
}

fn reduce(Elements { all, rows, columns }: Elements) -> Shape {
    // With fewer, its shuffles read from lanes that do not take part.
    let block = columns.next_power_of_two().clamp(64, 1024);
    let layout = Layout(vec![rows, columns, columns, 1]);
    by_row(rows, [block, 1, 1], vec![Size(all), Size(columns), Size(2), layout, Numbers, Numbers])
}

/// The kernels, by class.
pub fn all() -> Vec<Kernel> {
    let row = |module, name, in_rust, shape| Kernel { module, name, in_rust, shape };
    vec![
        row(
            "affine",
            "affine_f32",
            Some(|left, _, out| out.iter_mut().zip(left).for_each(|(out, x)| *out = x * 2.0 + 1.0)),
            |elements| {
                let Shape { mut parameters, .. } = map(elements);
                parameters.extend([Float(2.0), Float(1.0)]);
                each(elements.all, parameters)
            },
        ),
        row(
            "binary",
            "badd_f32",
            Some(|left, right, out| {
                out.iter_mut().zip(left.iter().zip(right)).for_each(|(out, (left, right))| *out = left + right);
            }),
            |elements| {
                let Shape { mut parameters, .. } = map(elements);
                parameters.push(Numbers);
                each(elements.all, parameters)
            },
        ),
        row(
            "unary",
            "uexp_f32",
            Some(|left, _, out| out.iter_mut().zip(left).for_each(|(out, x)| *out = x.exp())),
            map,
        ),
        row("unary", "ugelu_f16", None, map),
        row("cast", "cast_f32_f16", None, map),
        row("affine", "affine_f32 transposed", None, |Elements { all, rows, columns }| {
            let layout = Layout(vec![rows, columns, 1, rows]);
            each(all, vec![Size(all), Size(2), layout, Numbers, Numbers, Float(2.0), Float(1.0)])
        }),
        row("reduce", "fast_sum_f32", None, reduce),
        row("reduce", "fast_argmax_f32", None, reduce),
        row("reduce", "softmax_f32", None, |Elements { rows, columns, .. }| {
            by_row(rows, [1, 32, 1], vec![Numbers, Numbers, Int(columns)])
        }),
        row("reduce", "layernorm_f32", None, |Elements { rows, columns, .. }| {
            let block = if columns < 1024 { 32 } else { 1024 };
            let numbers = vec![Numbers, Numbers, Numbers, Numbers, Int(columns), Int(block), Float(1e-5)];
            by_row(rows, [block, 1, 1], numbers)
        }),
        row("indexing", "is_u32_f32", None, |Elements { all, rows, columns }| {
            let sizes = [Size(1), Size(rows), Size(rows), Size(columns)];
            let mut parameters = vec![Size(all), Size(1), Layout(vec![rows, 1]), Indices(rows), Numbers, Numbers];
            parameters.extend(sizes);
            each(all, parameters)
        }),
        row("indexing", "ia_u32_f32", None, |Elements { rows, columns, .. }| {
            let sizes = [Size(1), Size(rows), Size(rows), Size(columns)];
            let mut parameters = vec![Indices(rows), Size(rows), Numbers, Numbers];
            parameters.extend(sizes);
            each(columns, parameters)
        }),
        row("sort", "asort_asc_f32", None, |Elements { rows, columns, .. }| {
            let padded = columns.next_power_of_two();
            let parameters = vec![Numbers, Numbers, Int(columns), Int(padded)];
            Shape { grid: [1, rows, 1], block: [padded, 1, 1], shared: padded * 4, parameters }
        }),
        row("conv", "im2col_f32", None, |Elements { all, .. }| {
            // 3 by 3 around each pixel of one line.
            let width = all.div_ceil(9);
            let layout = Layout(vec![1, 1, 1, width, width, width, width, 1]);
            let sizes = [width * 9, 1, width, 3, 3, 1, 1, 1].map(Size);
            each(width * 9, sizes.into_iter().chain([layout, Numbers, Numbers]).collect())
        }),
        row("quantized", "quantize_q8_1", None, |Elements { all, .. }| {
            let padded = all.next_multiple_of(512);
            let parameters = vec![Numbers, Numbers, Int(all), Int(padded)];
            Shape { grid: [padded / 256, 1, 1], block: [256, 1, 1], shared: 0, parameters }
        }),
        row("quantized", "mul_mat_vec_q8_0_q8_1_cuda1", None, |Elements { all, .. }| {
            let columns = all.next_multiple_of(32).min(1024);
            let rows = all.div_ceil(columns);
            let sizes = [columns, rows, columns, rows].map(Int);
            let parameters = [Numbers, Numbers, Numbers].into_iter().chain(sizes).collect();
            Shape { grid: [rows, 1, 1], block: [32, 4, 1], shared: 0, parameters }
        }),
    ]
}

/// A kernel with its buffers on a device.
pub struct Prepared {
    device: Device,
    function: FunctionId,
    launch: Launch,
}

impl Prepared {
    pub fn new(mut device: Device, text: &str, kernel: &Kernel, elements: usize) -> Self {
        let module = device.load(text).expect("a module");
        let name = kernel.name.split(' ').next().expect("a name");
        let function = device.function(module, name).expect("a kernel of candle");
        let Shape { grid, block, shared, parameters } = (kernel.shape)(Elements::new(elements));
        let mut params = Vec::new();
        for parameter in parameters {
            match parameter {
                Size(size) => push(&mut params, &size.to_le_bytes()),
                Int(int) => push(&mut params, &(int as u32).to_le_bytes()),
                Float(float) => push(&mut params, &float.to_le_bytes()),
                Numbers => pass(&mut params, &mut device, &numbers(2 * elements.max(512))),
                Layout(sizes) => {
                    pass(
                        &mut params,
                        &mut device,
                        &sizes.iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<_>>(),
                    );
                }
                Indices(count) => {
                    let bytes = (0..count as u32).rev().flat_map(u32::to_le_bytes);
                    pass(&mut params, &mut device, &bytes.collect::<Vec<_>>());
                }
            }
        }
        let [grid, block] = [grid, block].map(|sizes| sizes.map(|size| size as u32));
        let mut prepared = Self { device, function, launch: Launch { grid, block, shared: shared as u32, params } };
        prepared.launch();
        assert_eq!(prepared.device.reports(), [], "{} is right", kernel.name);
        prepared
    }

    pub fn launch(&mut self) {
        self.device.launch(self.function, &self.launch).expect("no fault");
    }
}

/// Numbers of 4 bytes: positive and finite, as halves and as floats.
fn numbers(count: usize) -> Vec<u8> {
    let number =
        |place: u32| 0x3c00_0000 | place.wrapping_mul(7) << 16 & 0x00ff_0000 | place.wrapping_mul(40_503) & 0x3bff;
    (0..count as u32).flat_map(|place| number(place).to_le_bytes()).collect()
}

/// Adds a parameter, aligned to its size.
fn push(params: &mut Vec<u8>, bytes: &[u8]) {
    params.resize(params.len().next_multiple_of(bytes.len()), 0);
    params.extend(bytes);
}

/// Adds the address of a new buffer.
fn pass(params: &mut Vec<u8>, device: &mut Device, bytes: &[u8]) {
    let address = device.allocate(bytes.len() as u64).expect("memory");
    device.bytes_mut(address, bytes.len() as u64).expect("allocated").copy_from_slice(bytes);
    push(params, &address.to_le_bytes());
}
