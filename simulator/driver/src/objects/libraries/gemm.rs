//! The arithmetic of a matrix product on device memory: `C = alpha * op(A) * op(B) + beta * C`, column by column.
//!
//! The real library sums in another order; results agree within rounding.

use crate::objects::libraries::element::{Element, Real};
use device_record::{Detail, Fault, How, Space};
use simulator::{Device, jitter};

/// Matrices of a batch in device memory, each stored column by column.
#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// `A`, `B`, `C`, `D`, or a lower-case `b` for the bias.
    pub name: char,
    pub address: u64,
    pub element: Element,
    /// Elements from one column to the next.
    pub leading: u64,
    /// Elements from one matrix of the batch to the next.
    pub stride: i64,
    pub transposed: bool,
}

impl Matrix {
    /// Which rows, or columns, of the operand have an element that was never written.
    fn undefined(&self, device: &Device, batch: usize, rows: usize, columns: usize, by_row: bool) -> Vec<bool> {
        let (height, width) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let mut found = vec![false; if by_row { rows } else { columns }];
        for outer in 0..if height > 0 { width } else { 0 } {
            let start = self.column(batch, outer);
            if !device.is_undefined(start, height as u64 * self.element.size()) {
                continue;
            }
            // A stored column is a row of the transpose.
            for inner in 0..height {
                let at = start + inner as u64 * self.element.size();
                let place = if self.transposed == by_row { outer } else { inner };
                found[place] |= device.is_undefined(at, self.element.size());
            }
        }
        found
    }

    fn column(&self, batch: usize, column: usize) -> u64 {
        let elements = self.leading.wrapping_mul(column as u64).wrapping_add_signed(self.stride * batch as i64);
        self.address.wrapping_add(elements.wrapping_mul(self.element.size()))
    }

    /// Tells the device which elements are read, to report those outside of a view.
    fn check_view(&self, device: &mut Device, batch: usize, rows: usize, columns: usize) {
        let (height, width) = if self.transposed { (columns, rows) } else { (rows, columns) };
        for column in 0..if height > 0 { width } else { 0 } {
            device.check_view(self.column(batch, column), height as u64 * self.element.size());
        }
    }

    /// The matrix as an operand of `rows` by `columns`, transposed if needed. Only its elements are read.
    fn read<T: Real>(&self, device: &Device, batch: usize, rows: usize, columns: usize) -> Result<Vec<T>, Fault> {
        let (height, width) = if self.transposed { (columns, rows) } else { (rows, columns) };
        let mut stored = Vec::with_capacity(rows * columns);
        // Columns without elements have no address.
        for column in 0..if height > 0 { width } else { 0 } {
            stored.extend(self.read_column::<T>(device, batch, column, height)?);
        }
        if !self.transposed {
            return Ok(stored);
        }
        Ok((0..columns).flat_map(|column| stored.iter().skip(column).step_by(columns).copied()).collect())
    }

    /// A stored column.
    fn read_column<T: Real>(
        &self,
        device: &Device,
        batch: usize,
        column: usize,
        height: usize,
    ) -> Result<Vec<T>, Fault> {
        let bytes = device.bytes(self.column(batch, column), height as u64 * self.element.size());
        let bytes = bytes.map_err(|fault| self.first_wrong(device, batch, column, height).unwrap_or(fault))?;
        let mut found = Vec::with_capacity(height);
        T::read(self.element, bytes, &mut found);
        Ok(found)
    }

    /// The fault of the first element of a stored column that is out of bounds.
    fn first_wrong(&self, device: &Device, batch: usize, column: usize, height: usize) -> Option<Fault> {
        let size = self.element.size();
        let address = |row: usize| self.column(batch, column).wrapping_add(row as u64 * size);
        let (row, mut fault) = (0..height).find_map(|row| Some((row, device.bytes(address(row), size).err()?)))?;
        let whose = format!("the element is that of {} in row {row}, column {column}, batch {batch}", self.name);
        fault.notes.insert(0, whose.into());
        Some(fault)
    }
}

/// The size of a product, and of the batch.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batch: usize,
}

/// What is done to each element of a product before it is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Activation {
    #[default]
    None,
    Relu,
    Gelu,
}

/// Where a product goes, and what is done to it.
#[derive(Debug, Default)]
pub struct Output {
    /// The matrix that takes it, if that is not C.
    pub matrix: Option<Matrix>,
    /// A column that is added to each column.
    pub bias: Option<Matrix>,
    pub activation: Activation,
}

impl Output {
    /// Finishes a column of the product.
    fn finish<T: Real>(&self, column: &mut [T], bias: &[T], round: impl Fn(T) -> T) {
        column.iter_mut().zip(bias).for_each(|(x, &bias)| *x = round(*x + bias));
        match self.activation {
            Activation::None => {}
            Activation::Relu => column.iter_mut().filter(|x| **x < T::default()).for_each(|x| *x = T::default()),
            Activation::Gelu => column.iter_mut().for_each(|x| *x = round(x.gelu())),
        }
    }
}

/// Multiplies. `input` rounds the elements read, `round` the result of each step.
pub fn multiply<T: Real>(
    device: &mut Device,
    Shape { m, n, k, batch }: Shape,
    [a, b, c]: &[Matrix; 3],
    output: &Output,
    [alpha, beta]: [T; 2],
    input: impl Fn(T) -> T,
    round: impl Fn(T) -> T,
) -> Result<(), Fault> {
    let steps = [m, n, k, batch].into_iter().fold(1_usize, usize::saturating_mul);
    [a, b, c].iter().try_for_each(|matrix| device.affords(matrix.address, steps))?;
    for batch in 0..batch {
        let (rows, columns) = (a.undefined(device, batch, m, k, true), b.undefined(device, batch, k, n, false));
        a.check_view(device, batch, m, k);
        b.check_view(device, batch, k, n);
        let mut left = a.read(device, batch, m, k)?;
        let mut right = b.read(device, batch, k, n)?;
        left.iter_mut().chain(&mut right).for_each(|x| *x = input(*x));
        let on_tensor_cores = matches!(a.element, Element::F16 | Element::Bf16);
        let mut result = match jitter::way(if on_tensor_cores { 3 } else { 2 }) {
            0 => product(&left, &right, m, n, k, |sum, x, y| round(x.fused(y, sum))),
            1 => product(&left, &right, m, n, k, |sum, x, y| round(sum + x * y)),
            _ => product(&left, &right, m, n, k, |sum, x, y| round(x.cut_off(y, sum))),
        };
        let bias = output.bias.as_ref().map_or(Ok(Vec::new()), |bias| bias.read(device, batch, m, 1))?;
        let to = output.matrix.as_ref().unwrap_or(c);
        for (column, result) in result.chunks_exact_mut(m).enumerate() {
            for x in &mut *result {
                *x = round(alpha * *x);
            }
            // If the factor is zero, C is not read: it may hold anything, NaN included.
            if beta != T::default() {
                let old: Vec<T> = c.read_column(device, batch, column, m)?;
                result.iter_mut().zip(&old).for_each(|(x, &old)| *x = round(*x + round(beta * old)));
            }
            output.finish(result, &bias, &round);
            let (address, size) = (to.column(batch, column), m as u64 * to.element.size());
            if let Err(fault) = device.bytes(address, size) {
                let detail = Detail::Access { how: How::Write, space: Space::Global, bytes: to.element.size() };
                return Err(to.first_wrong(device, batch, column, m).map_or(fault, |wrong| Fault { detail, ..wrong }));
            }
            T::write(to.element, result, device.bytes_mut(address, size)?);
            for (row, undefined) in rows.iter().enumerate() {
                if *undefined || columns[column] {
                    device.make_undefined(address + row as u64 * to.element.size(), to.element.size());
                }
            }
        }
    }
    Ok(())
}

/// Sums in the order of `k`, or with jitter in another one and as several partial sums; `add` adds the product of two elements to a
/// sum. The inner loop runs down the columns of A and the result, which compilers vectorize.
fn product<T: Real>(a: &[T], b: &[T], m: usize, n: usize, k: usize, add: impl Fn(T, T, T) -> T) -> Vec<T> {
    let partial_sum = |part: usize, parts: usize| {
        let mut result = vec![T::default(); m * n];
        if k > 0 {
            for (result, b) in result.chunks_exact_mut(m).zip(b.chunks_exact(k)) {
                for turn in (part..k).step_by(parts) {
                    let at = jitter::scheduled(turn, k, 0);
                    for (sum, &a) in result.iter_mut().zip(&a[at * m..(at + 1) * m]) {
                        *sum = add(*sum, a, b[at]);
                    }
                }
            }
        }
        result
    };
    let parts = jitter::partial_sums();
    let mut result = partial_sum(0, parts);
    for part in 1..parts {
        result.iter_mut().zip(partial_sum(part, parts)).for_each(|(sum, other)| *sum = add(*sum, other, T::ONE));
    }
    result
}
