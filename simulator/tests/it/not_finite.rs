//! Infinities and NaN that instructions make of finite numbers are facts, on request.

use simulator::{Checks, Config, Device, Kind};

use crate::machine::{HEADER, Shape, launch};

/// What is said of one thread that computes `%d` (`f64`), `%f` (`f32`), `%r` (32 bits) or `%h` (16 bits) registers.
fn said(checks: &str, body: &str) -> Vec<String> {
    let text = format!(
        "{HEADER}.visible .entry k()
{{
    .reg .pred %p<4>;
    .reg .b16 %h<8>;
    .reg .b32 %r<8>;
    .reg .f32 %f<8>;
    .reg .f64 %d<8>;
    mov.f32 %f1, 0f7F7FFFFF;
    mov.f32 %f2, 0f7F800000;
    mov.f32 %f3, 0f00000000;
    mov.f64 %d1, 0d7FEFFFFFFFFFFFFF;
    {body}
    ret;
}}
"
    );
    let checks: Checks = checks.parse().expect("checks");
    let mut device = Device::new(0, &Config { checks, ..Config::default() });
    launch(&mut device, &text, "k", Shape::line(1, 1), Vec::new()).expect("no fault");
    let facts = device.reports();
    assert!(facts.iter().all(|fact| fact.kind == Kind::NotFinite), "{facts:?}");
    facts.iter().map(|fact| fact.detail.to_string()).collect()
}

#[test]
fn what_makes_an_infinity_or_nan_of_finite_numbers_is_said() {
    let table: &[(&str, &[&str])] = &[
        ("add.f32 %f4, %f1, %f1;", &["inf is made of 3.4028235e38, 3.4028235e38"]),
        ("fma.rn.f32 %f4, %f1, %f1, %f3;", &["inf is made of 3.4028235e38, 3.4028235e38, 0.0"]),
        ("mul.f64 %d2, %d1, %d1;", &["inf is made of 1.7976931348623157e308, 1.7976931348623157e308"]),
        ("lg2.approx.f32 %f4, %f3;", &["-inf is made of 0.0"]),
        ("div.rn.f32 %f4, %f3, %f3;", &["NaN is made of 0.0, 0.0"]),
        ("cvt.rn.f16.f32 %h1, %f1;", &["inf is made of 3.4028235e38"]),
        ("cvt.rn.f32.f64 %f4, %d1;", &["inf is made of 1.7976931348623157e308"]),
        ("mov.u32 %r1, 0x7bff3c00; add.rn.f16x2 %r2, %r1, %r1;", &["inf is made of 65504.0, 65504.0"]),
        // Each line once, and each of what follows from it not at all.
        (
            "add.f32 %f4, %f1, %f1; mul.f32 %f5, %f4, %f4; sub.f32 %f6, %f5, %f4;",
            &["inf is made of 3.4028235e38, 3.4028235e38"],
        ),
        ("add.f32 %f4, %f2, %f1;", &[]),
        ("sub.f32 %f4, %f2, %f2;", &[]),
        ("max.f32 %f4, %f2, %f1;", &[]),
        ("cvt.rzi.s32.f32 %r1, %f1;", &[]),
        ("cvt.rn.f32.s32 %f4, %r1;", &[]),
        ("setp.gt.f32 %p1, %f2, %f1; selp.f32 %f4, %f2, %f1, %p1;", &[]),
        ("setp.eq.f32 %p1, %f3, %f3; selp.f32 %f4, 0fFF800000, %f1, %p1;", &["-inf is made of -inf, 3.4028235e38"]),
        ("setp.ne.f32 %p1, %f3, %f3; selp.f32 %f4, 0fFF800000, %f1, %p1;", &[]),
    ];
    for (body, expected) in table {
        assert_eq!(said("not-finite", body), *expected, "{body}");
    }
}

#[test]
fn nothing_is_said_of_them_unless_asked_for() {
    assert_eq!(said("all", "add.f32 %f4, %f1, %f1;"), [""; 0]);
    assert_eq!(said("all,not-finite", "add.f32 %f4, %f1, %f1;").len(), 1);
}
