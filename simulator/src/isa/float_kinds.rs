//! Floating-point numbers beside the arithmetic of one type: what kind of number one is, sums and products of mixed types, and pairs in
//! one register (PTX ISA 9.7.3, 9.7.5).

use super::{Action, Form, Table, op};
use crate::exact::{self, Precision};
use crate::float::Rounding;
use crate::lanes::{Bf16, F16, Floats, Lane, Lanes, WARP};

pub(super) fn forms(table: &mut Table) {
    classes(table);
    mixed(table);
    pairs(table);
}

/// What a number is (9.7.3.1).
fn classes(table: &mut Table) {
    table.group("Classes of floating-point numbers (9.7.3.1)");
    macro_rules! tests {
        ($($name:literal: |$a:ident| $body:expr);+ $(;)?) => {$(
            table.add(concat!("testp.", $name, ".f32"), op!(|$a: f32| $body));
            table.add(concat!("testp.", $name, ".f64"), op!(|$a: f64| $body));
        )+};
    }
    tests! {
        "finite": |a| a.is_finite();
        "infinite": |a| a.is_infinite();
        "number": |a| !a.is_nan();
        "notanumber": |a| a.is_nan();
        "normal": |a| a.is_normal();
        "subnormal": |a| a.is_subnormal();
    }
}

/// Sums and products in single precision of halves (9.7.5).
fn mixed(table: &mut Table) {
    table.group("Mixed-precision arithmetic (9.7.5)");
    macro_rules! modes {
        ($($suffix:literal $mode:ident),+) => {$(
            modes!(@ $suffix $mode "f16" F16);
            modes!(@ $suffix $mode "bf16" Bf16);
        )+};
        (@ $suffix:literal $mode:ident $of:literal $half:ident) => {
            table.add(concat!("add", $suffix, ".f32.", $of), op!(|a: $half, b: f32| exact::sum(a.0.into(), b.into(), (Precision::SINGLE, Rounding::$mode)) as f32));
            table.add(concat!("sub", $suffix, ".f32.", $of), op!(|a: $half, b: f32| exact::sum(a.0.into(), (-b).into(), (Precision::SINGLE, Rounding::$mode)) as f32));
            if !$suffix.is_empty() {
                table.add(concat!("fma", $suffix, ".f32.", $of), op!(|a: $half, b: $half, c: f32| {
                    exact::fused(a.0.into(), b.0.into(), c.into(), (Precision::SINGLE, Rounding::$mode)) as f32
                }));
            }
        };
    }
    modes!("" NearestEven, ".rn" NearestEven, ".rz" Zero, ".rm" Down, ".rp" Up);
}

/// Two operations in one instruction, as GPUs from compute capability 10.0 on have them.
fn pairs(table: &mut Table) {
    table.group("Pairs in single precision (9.7.3)");
    macro_rules! modes {
        ($($suffix:literal $mode:ident),+) => {$(
            modes!(@ "add" $suffix $mode, |a, b, round| exact::sum(a, b, round));
            modes!(@ "sub" $suffix $mode, |a, b, round| exact::sum(a, -b, round));
            modes!(@ "mul" $suffix $mode, |a, b, round| exact::product(a, b, round));
            if !$suffix.is_empty() {
                table.add(concat!("fma", $suffix, ".f32x2"), op!(|x: Floats, y: Floats, z: Floats| {
                    let compute = |a: f32, b: f32, c: f32| {
                        exact::fused(a.into(), b.into(), c.into(), (Precision::SINGLE, Rounding::$mode)) as f32
                    };
                    Floats(compute(x.0, y.0, z.0), compute(x.1, y.1, z.1))
                }));
            }
        )+};
        (@ $name:literal $suffix:literal $mode:ident, |$a:ident, $b:ident, $round:ident| $body:expr) => {
            table.add(concat!($name, $suffix, ".f32x2"), op!(|x: Floats, y: Floats| {
                let $round = (Precision::SINGLE, Rounding::$mode);
                let compute = |$a: f64, $b: f64| $body as f32;
                Floats(compute(x.0.into(), y.0.into()), compute(x.1.into(), y.1.into()))
            }));
        };
    }
    modes!("" NearestEven, ".rn" NearestEven, ".rz" Zero, ".rm" Down, ".rp" Up);
}
