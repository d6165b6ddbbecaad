//! Products of matrices in registers. Integers are exact until the end. The ISA leaves open in which order reals are added and
//! how they are rounded, but for "at least single precision" (9.7.15.5.14): here sums are double, and then rounded once. f64
//! is a chain of fused multiply-adds.

use crate::exact::{self, Precision};
use crate::float::{Format, Rounding, e4m3, e5m2, narrow};
use crate::isa::{Arithmetic, Element, MatrixFragment, Product};
use crate::jitter;
use crate::kernel::Register;
use crate::lanes::{Bf16, F16, Lane, Lanes, WARP};
use crate::warp::Warp;
use crate::warp::taint::Taint;

/// The registers of a product's sources.
#[derive(Clone, Copy)]
struct Sources<'a> {
    a: &'a [Register],
    b: &'a [Register],
    c: &'a [Register],
}

/// What the lanes hold of a matrix, row by row.
struct Grid<T> {
    columns: usize,
    values: Vec<T>,
}

impl<T> Grid<T> {
    fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..][..self.columns]
    }
}

/// Columns of the result that are computed together.
const TOGETHER: usize = 8;

pub fn multiply(warp: &mut Warp, product: &Product, registers: &[Register]) {
    let (d, rest) = registers.split_at(product.d.registers());
    let (a, rest) = rest.split_at(product.a.registers());
    let (b, c) = rest.split_at(product.b.registers());
    let from = Sources { a, b, c };
    let element = product.d.element;
    let real_bits = |_, sum| real_bits(element, sum);
    let wrapped = |_, sum: i32| sum.bits();
    // Products of at most 256 elements of 8 bits fit: the sum without the summand is exact.
    let limited = |c: i32, sum: i32| c.saturating_add(sum.wrapping_sub(c)).bits();
    let results = match product.arithmetic {
        Arithmetic::Fused(Rounding::NearestEven) => {
            results(warp, product, from, reals, |sum, x, y| x.mul_add(y, sum), real_bits)
        }
        Arithmetic::Fused(rounding) => {
            let to = (Precision::DOUBLE, rounding);
            results(warp, product, from, reals, |sum, x, y| exact::fused(x, y, sum, to), real_bits)
        }
        // Products of elements of up to 19 bits are exact.
        Arithmetic::Real => match jitter::way(3) {
            0 => results(warp, product, from, reals, |sum, x, y| sum + x * y, real_bits),
            1 => results(warp, product, from, reals, |sum, x, y| f64::from((sum + x * y) as f32), real_bits),
            _ => results(warp, product, from, reals, |sum, x, y| jitter::cut_off(sum + x * y).into(), real_bits),
        },
        Arithmetic::Integer { saturates: true } => results(warp, product, from, integers, multiplied, limited),
        Arithmetic::Integer { saturates: false } => results(warp, product, from, integers, multiplied, wrapped),
        Arithmetic::And => results(warp, product, from, integers, |sum, x, y| sum.wrapping_add(x & y), wrapped),
        Arithmetic::Xor => results(warp, product, from, integers, |sum, x, y| sum.wrapping_add(x ^ y), wrapped),
    };
    let taints = warp.taints.any.then(|| product_taints(warp, product, from));
    for (number, &register) in d.iter().enumerate() {
        warp.registers[register as usize] = results[number];
        if let Some(taints) = &taints {
            warp.taints.set(register, u32::MAX, &taints[number]);
        }
    }
}

/// The registers of the result. `add` adds the product of two elements to a sum, which begins with the summand; `bits` makes
/// an element of the summand and the sum.
fn results<T: Copy + Default>(
    warp: &Warp,
    product: &Product,
    from: Sources,
    numbers: impl Fn(Element, &Lanes, usize) -> [T; WARP],
    add: impl Fn(T, T, T) -> T,
    bits: impl Fn(T, T) -> u64,
) -> Vec<Lanes> {
    let grid = |fragment: &MatrixFragment, registers: &[Register], turned| {
        grid(fragment, turned, |register, bit| {
            numbers(fragment.element, &warp.registers[registers[register] as usize], bit)
        })
    };
    let (a, b, c) = (grid(&product.a, from.a, false), grid(&product.b, from.b, true), grid(&product.c, from.c, false));
    let mut sums = c.values.clone();
    for (number, sums) in sums.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let (row, column) = (number * TOGETHER / c.columns, number * TOGETHER % c.columns);
        let mut together = *sums;
        for (&x, ys) in a.row(row).iter().zip(b.values.chunks_exact(b.columns)) {
            let ys = &ys[column..column + TOGETHER];
            together = std::array::from_fn(|at| add(together[at], x, ys[at]));
        }
        *sums = together;
    }
    let elements: Vec<u64> = c.values.iter().zip(&sums).map(|(&summand, &sum)| bits(summand, sum)).collect();
    let mut results = vec![[0; WARP]; product.d.registers()];
    each(&product.d, false, |register, bit, places| {
        for (result, place) in results[register].iter_mut().zip(places) {
            *result |= elements[place] << bit;
        }
    });
    results
}

/// The taint of the result: of elements whose row or column of the factors, or whose summand, has undefined bits.
fn product_taints(warp: &Warp, product: &Product, from: Sources) -> Vec<Taint> {
    let doubts = |fragment: &MatrixFragment, registers: &[Register]| {
        grid(fragment, false, |register, bit| {
            warp.taints.of(registers[register]).undefined.map(|undefined| undefined & bits_of(fragment, bit) != 0)
        })
    };
    let (a, b, c) = (doubts(&product.a, from.a), doubts(&product.b, from.b), doubts(&product.c, from.c));
    let lines = |grid: &Grid<bool>| -> Vec<bool> {
        grid.values.chunks_exact(grid.columns).map(|line| line.contains(&true)).collect()
    };
    let (rows, columns) = (lines(&a), lines(&b));
    let sources = [from.a, from.b, from.c].into_iter().flatten().map(|&register| warp.taints.of(register));
    let origin = sources.filter(|taint| taint.undefined != [0; WARP]).map(|taint| taint.origin).next_back();
    let mut taints = vec![Taint { origin: origin.unwrap_or_default(), ..Taint::default() }; product.d.registers()];
    each(&product.d, false, |register, bit, places| {
        for (undefined, place) in taints[register].undefined.iter_mut().zip(places) {
            if c.values[place] || rows[place / c.columns] || columns[place % c.columns] {
                *undefined |= bits_of(&product.d, bit);
            }
        }
    });
    taints
}

/// The elements of a matrix, a row for each line; or `turned`, a column. `of` has those of all lanes at a register and bit.
fn grid<T: Copy + Default>(fragment: &MatrixFragment, turned: bool, of: impl Fn(usize, usize) -> [T; WARP]) -> Grid<T> {
    let mut values = vec![T::default(); fragment.lines() * fragment.length()];
    each(fragment, turned, |register, bit, places| {
        for (place, value) in places.into_iter().zip(of(register, bit)) {
            values[place] = value;
        }
    });
    Grid { columns: if turned { fragment.lines() } else { fragment.length() }, values }
}

/// Calls `of` with the registers and bits that have elements, and the places in a [`Grid`] of those of all lanes.
fn each(fragment: &MatrixFragment, turned: bool, mut of: impl FnMut(usize, usize, [usize; WARP])) {
    let (down, right) = if turned { (1, fragment.lines()) } else { (fragment.length(), 1) };
    let offset = |(line, place): (usize, usize)| line * down + place * right;
    let starts: [usize; WARP] = std::array::from_fn(|lane| offset(fragment.of_lane(lane)));
    for index in 0..fragment.elements() {
        let ((register, bit), from) = (fragment.position(index), offset(fragment.of_index(index)));
        of(register, bit, starts.map(|start| start + from));
    }
}

/// The bits of the element that begins at this bit of a register.
fn bits_of(fragment: &MatrixFragment, bit: usize) -> u64 {
    u64::MAX >> (64 - fragment.element.bits()) << bit
}

/// The numbers that begin at this bit; there may be others above them.
fn reals(element: Element, lanes: &Lanes, bit: usize) -> [f64; WARP] {
    match element {
        Element::F16 => lanes.map(|bits| F16::of(bits >> bit).0.into()),
        Element::Bf16 => lanes.map(|bits| Bf16::of(bits >> bit).0.into()),
        // The lower 13 bits are not part of the number.
        Element::Tf32 => lanes.map(|bits| f32::of(bits & !0x1fff).into()),
        Element::E4m3 => lanes.map(|bits| e4m3((bits >> bit) as u8).into()),
        Element::E5m2 => lanes.map(|bits| e5m2((bits >> bit) as u8).into()),
        Element::F64 => lanes.map(f64::of),
        _ => lanes.map(|bits| f32::of(bits).into()),
    }
}

fn integers(element: Element, lanes: &Lanes, bit: usize) -> [i32; WARP] {
    let unused = 32 - element.bits();
    match element {
        Element::Signed(_) => lanes.map(|bits| ((bits >> bit) as i32) << unused >> unused),
        _ => lanes.map(|bits| (((bits >> bit) as u32) << unused >> unused) as i32),
    }
}

fn multiplied(sum: i32, x: i32, y: i32) -> i32 {
    sum.wrapping_add(x.wrapping_mul(y))
}

fn real_bits(element: Element, value: f64) -> u64 {
    match element {
        Element::F16 => narrow(value, Format::F16, Rounding::NearestEven).into(),
        Element::F64 => value.to_bits(),
        _ => (value as f32).bits(),
    }
}
