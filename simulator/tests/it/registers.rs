//! Registers begin as zeros, whatever a kernel before has left in them, on every way through a kernel.

use std::fmt::Write;

use simulator::Fault;

use crate::machine::{HEADER, Shape, device, launch, upload};
use crate::types::Random;

const REGISTERS: usize = 10;
/// 40 threads: a warp, and one that is not full.
const SHAPE: Shape = Shape { grid: [2, 1, 1], block: [40, 1, 1], shared: 0 };
const THREADS: usize = 80;

/// A kernel of random instructions, which read registers that nothing has written, branch, loop, and exchange between lanes of which
/// some are elsewhere. It stores some of its registers.
fn any_kernel(random: &mut Random) -> String {
    let mut body = String::new();
    let mut open: Vec<usize> = Vec::new();
    for number in 0..40 {
        let [d, a, b, c] = std::array::from_fn(|_| format!("%r{}", random.below(REGISTERS)));
        let [p, q] = std::array::from_fn(|_| format!("%p{}", random.below(3)));
        let guard = ["", "", &format!("@{p} "), &format!("@!{p} ")][random.below(4)].to_string();
        match random.below(12) {
            0..3 => writeln!(body, "{guard}add.u32 {d}, {a}, {b};"),
            3 => writeln!(body, "{guard}mad.lo.u32 {d}, {a}, {b}, {c};"),
            4 => writeln!(body, "{guard}xor.b32 {d}, {a}, %t;"),
            5 => writeln!(body, "{guard}mov.u32 {d}, {};", random.below(100)),
            6 => writeln!(body, "{guard}addc.u32 {d}, {a}, {b};"),
            7 => writeln!(body, "{guard}setp.lt.u32 {q}, {a}, {};", random.below(1 << 7)),
            8 => writeln!(body, "{guard}setp.ne.u32 {q}, {a}, %t;"),
            9 => writeln!(body, "{guard}shfl.bfly.b32 {d}, {a}, {}, 31;", random.below(32)),
            10 => {
                open.push(number);
                writeln!(body, "@{p} bra L{number};")
            }
            _ => match open.pop() {
                Some(label) => writeln!(body, "L{label}:"),
                None => writeln!(body, "add.u32 %n, %n, 1;\nsetp.lt.u32 {q}, %n, 5;\n@{q} bra BEGIN;"),
            },
        }
        .expect("a string");
    }
    for label in open {
        writeln!(body, "L{label}:").expect("a string");
    }
    for place in 0..3 {
        writeln!(body, "st.global.u32 [%o + {}], %r{};", 4 * place, random.below(REGISTERS)).expect("a string");
    }
    format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %r<{REGISTERS}>;\n.reg .b32 %t, %n, %b;\n.reg .b64 %o;\n.reg .pred %p<3>;\n\
         mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmad.lo.u32 %b, %b, 40, %t;\n\
         ld.param.u64 %o, [out];\nmad.wide.u32 %o, %b, 12, %o;\nmov.u32 %n, 0;\nBEGIN:\n{body}ret;\n}}\n"
    )
}

/// A kernel that leaves something in many registers.
fn wasteful_kernel() -> String {
    let mut body = String::new();
    for number in 0..100 {
        writeln!(body, "mad.lo.u32 %w{number}, %t, 3, {};", number + 1).expect("a string");
        writeln!(body, "setp.ne.u32 %p{number}, %t, 1000;").expect("a string");
    }
    format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n.reg .b32 %w<100>;\n.reg .b32 %t;\n.reg .pred %p<100>;\n\
         mov.u32 %t, %tid.x;\n{body}add.cc.u32 %t, %t, -1;\nret;\n}}\n"
    )
}

/// What a kernel stores, and what is reported.
fn outcome(text: &str, after: Option<&str>) -> (Vec<u8>, Vec<Fault>) {
    let mut device = device();
    let out = upload(&mut device, &[0; 12 * THREADS]);
    let params = out.to_le_bytes().to_vec();
    for text in after.into_iter().chain([text]) {
        launch(&mut device, text, "k", SHAPE, params.clone()).unwrap_or_else(|fault| panic!("{fault:?} in\n{text}"));
    }
    (device.bytes(out, 12 * THREADS as u64).expect("allocated").to_vec(), device.reports())
}

#[test]
fn a_kernel_finds_zeros_in_registers_whatever_ran_before() {
    let (mut random, wasteful, mut stored) = (Random(1), wasteful_kernel(), 0);
    for _ in 0..400 {
        let text = any_kernel(&mut random);
        let (first, reports) = outcome(&text, None);
        stored += usize::from(first.iter().any(|&byte| byte != 0));
        assert_eq!((first, reports), outcome(&text, Some(&wasteful)), "{text}");
    }
    assert!(stored > 100, "{stored} kernels stored something");
}

#[test]
fn a_lane_that_is_elsewhere_gives_zeros_to_a_shuffle() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %a, %b, %c, %d, %t;\n.reg .b64 %o;\n.reg .pred %p;\n\
         mov.u32 %t, %tid.x;\nsetp.ge.u32 %p, %t, 16;\n@%p bra END;\n\
         mov.u32 %a, 7;\nmov.u32 %b, %a;\nshfl.bfly.b32 %c, %b, 16, 31;\n\
         ld.param.u64 %o, [out];\nmad.wide.u32 %o, %t, 4, %o;\nst.global.u32 [%o], %c;\nEND:\nret;\n}}\n"
    );
    let (stored, reports) = outcome(&text, None);
    assert!(stored.iter().all(|&byte| byte == 0) && !reports.is_empty(), "{reports:?}");
    assert_eq!((stored, reports), outcome(&text, Some(&wasteful_kernel())));
}
