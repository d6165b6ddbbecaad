//! Matrices spread over the lanes of a warp (PTX ISA 9.7.15): loads, stores, and products.

mod fragment;

use super::{Action, Space, Table};
use crate::float::Rounding;

pub use fragment::{Element, MatrixFragment};

/// What an instruction does with matrices.
#[derive(Debug, Clone, Copy)]
pub enum Matrix {
    /// Loads, or stores, matrices of eight rows of eight 16-bit elements, whose rows have an address each.
    Rows {
        /// How many.
        count: usize,
        /// Whether the registers have them transposed.
        transposed: bool,
        /// Whether it stores.
        writes: bool,
    },
    /// Transposes such a matrix in registers.
    Transpose,
    /// Loads, or stores, a matrix from an address on.
    Whole {
        /// What is in registers.
        fragment: MatrixFragment,
        /// Where the address is.
        space: Space,
        /// Whether the elements of a line are side by side, not the lines.
        along: bool,
        /// Whether it stores.
        writes: bool,
    },
    /// `d = a · b + c`
    Multiply(Product),
}

/// A product of matrices.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// The result.
    pub d: MatrixFragment,
    /// The left factor.
    pub a: MatrixFragment,
    /// The right factor.
    pub b: MatrixFragment,
    /// What is added.
    pub c: MatrixFragment,
    /// How elements are joined.
    pub arithmetic: Arithmetic,
}

/// How two elements are joined, and the results added.
#[derive(Debug, Clone, Copy)]
pub enum Arithmetic {
    /// Products of floats of up to 32 bits.
    Real,
    /// Fused multiply-adds of doubles, each rounded so.
    Fused(Rounding),
    /// Products of integers.
    Integer {
        /// Whether the sum is limited to 32 bits, instead of wrapped.
        saturates: bool,
    },
    /// Counts the bits that are set in both.
    And,
    /// Counts the bits that are set in one.
    Xor,
}

impl Matrix {
    /// The vectors of registers that are its operands: how many each has.
    pub fn registers(&self) -> Vec<usize> {
        match self {
            Self::Rows { count, .. } => vec![*count],
            Self::Transpose => vec![1, 1],
            Self::Whole { fragment, .. } => vec![fragment.registers()],
            Self::Multiply(Product { d, a, b, c, .. }) => [d, a, b, c].map(MatrixFragment::registers).to_vec(),
        }
    }

    /// The memory that it accesses, and whether it writes there.
    pub fn access(&self) -> Option<(Space, bool)> {
        match *self {
            Self::Rows { writes, .. } => Some((Space::Shared, writes)),
            Self::Whole { space, writes, .. } => Some((space, writes)),
            Self::Transpose | Self::Multiply(_) => None,
        }
    }
}

/// The products of one family of types: `shapes` are M, N and K, `sums` the types of `d` and `c`.
struct Family {
    factors: &'static [&'static str],
    shapes: &'static [[usize; 3]],
    sums: &'static [[&'static str; 2]],
}

const fn family(
    factors: &'static [&'static str],
    shapes: &'static [[usize; 3]],
    sums: &'static [[&'static str; 2]],
) -> Family {
    Family { factors, shapes, sums }
}

const F32: &[[&str; 2]] = &[["f32", "f32"]];
const F64: &[[&str; 2]] = &[["f64", "f64"]];
const S32: &[[&str; 2]] = &[["s32", "s32"]];
const SAME: &[[&str; 2]] = &[["f16", "f16"], ["f32", "f32"]];
const ANY: &[[&str; 2]] = &[["f16", "f16"], ["f16", "f32"], ["f32", "f16"], ["f32", "f32"]];

/// All but what needs compute capability 10 or more, sparse factors, and `m8n8k4` of f16.
const MMA: [Family; 8] = [
    family(&["f16"], &[[16, 8, 8], [16, 8, 16]], SAME),
    family(&["bf16"], &[[16, 8, 8], [16, 8, 16]], F32),
    family(&["tf32"], &[[16, 8, 4], [16, 8, 8]], F32),
    family(&["e4m3", "e5m2"], &[[16, 8, 16], [16, 8, 32]], SAME),
    family(&["f64"], &[[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]], F64),
    family(&["s8", "u8"], &[[8, 8, 16], [16, 8, 16], [16, 8, 32]], S32),
    family(&["s4", "u4"], &[[8, 8, 32], [16, 8, 32], [16, 8, 64]], S32),
    family(&["b1"], &[[8, 8, 128], [16, 8, 128], [16, 8, 256]], S32),
];

const SIXTEEN_DEEP: &[[usize; 3]] = &[[16, 16, 16], [32, 8, 16], [8, 32, 16]];

const WMMA: [Family; 7] = [
    family(&["f16"], SIXTEEN_DEEP, ANY),
    family(&["bf16"], SIXTEEN_DEEP, F32),
    family(&["s8", "u8"], SIXTEEN_DEEP, S32),
    family(&["tf32"], &[[16, 16, 8]], F32),
    family(&["f64"], &[[8, 8, 4]], F64),
    family(&["s4", "u4"], &[[8, 8, 32]], S32),
    family(&["b1"], &[[8, 8, 128]], S32),
];

const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::NearestEven), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];
const LAYOUTS: [&str; 2] = ["row", "col"];
const SHARED: [&str; 3] = ["", ".shared", ".shared::cta"];

pub(super) fn forms(table: &mut Table) {
    table.group("Matrices (9.7.15)");
    table.add("movmatrix.sync.aligned.m8n8.trans.b16", Action::Matrix(Matrix::Transpose));
    for (operation, writes) in [("ldmatrix", false), ("stmatrix", true)] {
        for count in [1, 2, 4] {
            for (trans, transposed) in [("", false), (".trans", true)] {
                for space in SHARED {
                    let name = format!("{operation}.sync.aligned.m8n8.x{count}{trans}{space}.b16");
                    table.add(name, Action::Matrix(Matrix::Rows { count, transposed, writes }));
                }
            }
        }
    }
    mma(table);
    for family in &WMMA {
        for &shape in family.shapes {
            wmma_memory(table, family, shape);
            wmma_products(table, family, shape);
        }
    }
}

/// The name of a form whose shape comes after other modifiers, as CUTLASS writes it and PTX allows: `ldmatrix.sync.aligned.x4.m8n8.….b16`.
pub(super) fn canonical(name: &str) -> Option<String> {
    let rest = name.strip_prefix("ldmatrix.sync.aligned.").or_else(|| name.strip_prefix("stmatrix.sync.aligned."))?;
    let (before, after) = rest.split_once(".m8n8")?;
    Some(format!("{}m8n8.{before}{after}", name.strip_suffix(rest)?))
}

fn mma(table: &mut Table) {
    for Family { factors, shapes, sums } in &MMA {
        for (&shape, [d, c]) in shapes.iter().flat_map(|shape| sums.iter().map(move |sums| (shape, sums))) {
            for (left, right) in factors.iter().flat_map(|left| factors.iter().map(move |right| (left, right))) {
                for (limit, counted, arithmetic) in arithmetics(left) {
                    let name = format!("{}.row.col{limit}.{d}.{left}.{right}.{c}{counted}", named(shape));
                    let product = product(shape, [d, left, right, c], arithmetic);
                    table.add(format!("mma.sync.aligned.{name}"), Action::Matrix(Matrix::Multiply(product)));
                }
            }
        }
    }
    for [d, c] in [["f16", "f16"], ["f32", "f16"], ["f32", "f32"]] {
        for (left, right) in layouts("f16") {
            let product = Product {
                d: MatrixFragment::quad_accumulator(Element::named(d)),
                a: MatrixFragment::quad_factor(left == "row"),
                b: MatrixFragment::quad_factor(right == "col"),
                c: MatrixFragment::quad_accumulator(Element::named(c)),
                arithmetic: Arithmetic::Real,
            };
            let name = format!("mma.sync.aligned.m8n8k4.{left}.{right}.{d}.f16.f16.{c}");
            table.add(name, Action::Matrix(Matrix::Multiply(product)));
        }
    }
}

fn wmma_memory(table: &mut Table, Family { factors, sums, .. }: &Family, shape: [usize; 3]) {
    for factor in *factors {
        let Product { a, b, .. } = wmma_product(shape, [sums[0][0], factor, factor, sums[0][1]], Arithmetic::Real);
        for (left, right) in layouts(factor) {
            wmma_access(table, &format!("load.a.sync.aligned.{left}"), shape, factor, a, left == "row");
            wmma_access(table, &format!("load.b.sync.aligned.{right}"), shape, factor, b, right == "col");
        }
    }
    for [sum, _] in *sums {
        let fragment = MatrixFragment::accumulator(shape, Element::named(sum));
        for (layout, operation) in LAYOUTS.iter().flat_map(|layout| ["load.c", "store.d"].map(|one| (layout, one))) {
            let operation = format!("{operation}.sync.aligned.{layout}");
            wmma_access(table, &operation, shape, sum, fragment, *layout == "row");
        }
    }
}

/// A load, or a store, in every space.
fn wmma_access(
    table: &mut Table,
    operation: &str,
    shape: [usize; 3],
    element: &str,
    fragment: MatrixFragment,
    along: bool,
) {
    let writes = operation.starts_with("store");
    let spaces = [Space::Generic, Space::Shared, Space::Shared];
    for (name, space) in SHARED.into_iter().zip(spaces).chain([(".global", Space::Global)]) {
        let name = format!("wmma.{operation}.{}{name}.{element}", named(shape));
        table.add(name, Action::Matrix(Matrix::Whole { fragment, space, along, writes }));
    }
}

fn wmma_products(table: &mut Table, Family { factors, sums, .. }: &Family, shape: [usize; 3]) {
    for (factor, [d, c]) in factors.iter().flat_map(|factor| sums.iter().map(move |sums| (factor, sums))) {
        for (left, right) in layouts(factor) {
            for (limit, counted, arithmetic) in arithmetics(factor) {
                let types = match *factor {
                    "f16" => format!("{d}.{c}"),
                    _ => format!("{d}.{factor}.{factor}.{c}"),
                };
                let product = wmma_product(shape, [d, factor, factor, c], arithmetic);
                let (of, shape) = (format!("wmma.mma{counted}.sync.aligned.{left}.{right}"), named(shape));
                table.add(format!("{of}.{shape}.{types}{limit}"), Action::Matrix(Matrix::Multiply(product)));
                for (name, rounding) in ROUNDINGS.iter().filter(|_| *factor == "f64") {
                    let rounded = Product { arithmetic: Arithmetic::Fused(*rounding), ..product };
                    // The ISA has the rounding before the types, and `nvcc` after them.
                    table.add(format!("{of}.{shape}.{name}.{types}"), Action::Matrix(Matrix::Multiply(rounded)));
                    table.add(format!("{of}.{shape}.{types}.{name}"), Action::Matrix(Matrix::Multiply(rounded)));
                }
            }
        }
    }
}

fn product(shape: [usize; 3], types: [&str; 4], arithmetic: Arithmetic) -> Product {
    let [d, a, b, c] = types.map(Element::named);
    Product {
        d: MatrixFragment::accumulator(shape, d),
        a: MatrixFragment::a(shape, a),
        b: MatrixFragment::b(shape, b),
        c: MatrixFragment::accumulator(shape, c),
        arithmetic,
    }
}

/// As [`product`], but f16 factors have eight registers in every shape (9.7.15.4.1).
fn wmma_product(shape: [usize; 3], types: [&str; 4], arithmetic: Arithmetic) -> Product {
    let mut product = product(shape, types, arithmetic);
    for factor in [&mut product.a, &mut product.b] {
        if factor.element == Element::F16 {
            factor.registers = 8;
        }
    }
    product
}

/// How products of elements of this type are computed, and the parts of the form's name that say so: of what happens at the
/// limits of 32 bits, and of what is counted.
fn arithmetics(factor: &str) -> Vec<(&'static str, &'static str, Arithmetic)> {
    let integer = |saturates| Arithmetic::Integer { saturates };
    match factor {
        "b1" => vec![("", ".xor.popc", Arithmetic::Xor), ("", ".and.popc", Arithmetic::And)],
        "s8" | "u8" | "s4" | "u4" => vec![("", "", integer(false)), (".satfinite", "", integer(true))],
        "f64" => vec![("", "", Arithmetic::Fused(Rounding::NearestEven))],
        _ => vec![("", "", Arithmetic::Real)],
    }
}

/// The layouts that factors of this type may have. Elements that are less than a byte must be side by side in a line.
fn layouts(factor: &str) -> Vec<(&'static str, &'static str)> {
    match factor {
        "b1" | "s4" | "u4" => vec![("row", "col")],
        _ => LAYOUTS.iter().flat_map(|&left| LAYOUTS.map(|right| (left, right))).collect(),
    }
}

fn named([m, n, k]: [usize; 3]) -> String {
    format!("m{m}n{n}k{k}")
}
