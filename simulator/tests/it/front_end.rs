//! The front end: text that is not PTX is an error with a line, and nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use simulator::{Config, Device, LoadError};

use crate::machine::{Shape, launch, upload};
use crate::types::Random;

/// A module with one of everything that the front end reads.
const MODULE: &str = include_str!("../pass/call.ptx");

/// Loads `text` and runs its kernel, if it has one. The result does not matter, but an error must have a line.
fn survives(text: &str) -> Result<(), String> {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let mut device = Device::new(0, &Config { budget: 2000, memory: 1 << 20, ..Config::default() });
        let out = upload(&mut device, &[0; 1024]);
        let module = match device.load(text) {
            Ok(module) => module,
            Err(LoadError::Syntax(message)) => return message.starts_with("line ") || message.contains("target"),
            Err(_) => return true,
        };
        if device.function(module, "k").is_some() {
            let _ = launch(&mut device, text, "k", Shape::line(1, 32), out.to_le_bytes().to_vec());
        }
        true
    }));
    match attempt {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("no line in the error of\n{text}")),
        Err(_) => Err(format!("panicked on\n{text}")),
    }
}

#[test]
fn a_truncated_module_is_an_error() {
    for end in 0..MODULE.len() {
        survives(&MODULE[..end]).expect("survives");
    }
}

#[test]
fn a_module_with_a_flipped_bit_does_not_panic() {
    let mut random = Random(1);
    for _ in 0..3000 {
        let mut bytes = MODULE.as_bytes().to_vec();
        let at = random.below(bytes.len());
        // The top bit stays, so that the text remains valid UTF-8.
        bytes[at] ^= 1 << random.below(7);
        survives(std::str::from_utf8(&bytes).expect("ASCII")).expect("survives");
    }
}

#[test]
fn a_module_with_a_byte_more_or_less_does_not_panic() {
    let mut random = Random(2);
    for _ in 0..3000 {
        let mut bytes = MODULE.as_bytes().to_vec();
        let at = random.below(bytes.len());
        if random.below(2) == 0 {
            bytes.remove(at);
        } else {
            bytes.insert(at, b"{}()[];:,.+-/*\"%@!0 9"[random.below(21)]);
        }
        survives(std::str::from_utf8(&bytes).expect("ASCII")).expect("survives");
    }
}

#[test]
fn errors_have_a_line() {
    for (text, expected) in [
        ("", "line 1: no `.target`: this is not PTX"),
        (".version 8.0\n.target sm_80\n.visible .entry k()\n{\n", "line 4: a body without an end"),
        (".version 8.0\n.target sm_80\n\n.funky x;\n", "line 4: unexpected Word(\".funky\") outside of functions"),
        (".version 8.0\n.target sm_80\n.global .funky x;\n", "line 3: `.funky` is not a type"),
        (".version 8.0\n.target sm_80\n.global .A128 x;\n", "line 3: `.A128` is not a type"),
    ] {
        let error = Device::new(0, &Config::default()).load(text).expect_err(text);
        assert_eq!(error, LoadError::Syntax(expected.to_string()));
    }
}

#[test]
fn an_offset_of_more_than_32_bits_does_not_overflow() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n";
    let load = "ld.param.u64 %rd1, [p];\nld.global.v2.u32 {%r1, %r2}, [%rd1+9223372036854775807];\nret;\n}\n";
    survives(&format!("{head}.reg .b64 %rd<2>;\n.reg .b32 %r<3>;\n{load}")).expect("survives");
}

#[test]
fn a_wait_for_all_but_the_most_groups_does_not_overflow() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 from;\n.entry k()\n{\n.reg .b64 %rd1;\n.reg .b32 %r1;\n\
                .shared .b32 to;\nmov.u64 %rd1, from;\nmov.u32 %r1, to;\ncp.async.commit_group;\n\
                cp.async.ca.shared.global [%r1], [%rd1], 4;\ncp.async.wait_group -1;\nret;\n}\n";
    survives(text).expect("survives");
}

#[test]
fn a_part_that_a_register_lacks_does_not_panic() {
    for part in ["b4", "h2", "h128", "h181", "b255"] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{\n.reg .b32 %r<3>;\n\
             vadd.s32.s32.s32.sat %r1, %r2.{part}, %r2;\nret;\n}}"
        );
        survives(&text).expect("survives");
    }
}

#[test]
fn modules_newer_than_the_device_are_refused() {
    let load = |text: &str| Device::new(0, &Config::default()).load(text).expect_err(text);
    assert_eq!(
        load(".version 8.0\n.target sm_100\n.global .b32 x;\n"),
        LoadError::TooNewArchitecture("sm_100".to_string())
    );
    assert_eq!(
        load(".version 99.1\n.target sm_80\n.global .b32 x;\n"),
        LoadError::TooNewVersion("PTX 99.1".to_string())
    );
}

#[test]
fn a_target_with_a_suffix_runs_on_one_device_or_on_its_family() {
    let loads = |target: &str, capability| {
        let text = format!(".version 9.2\n.target {target}\n.global .b32 x;\n");
        Device::new(0, &Config { capability, ..Config::default() }).load(&text).is_ok()
    };
    for (target, runs, fails) in [
        ("sm_90a", &[(9, 0)][..], &[(10, 0), (8, 9)][..]),
        ("sm_100", &[(10, 0), (10, 3), (12, 0)], &[(9, 0)]),
        ("sm_100f", &[(10, 0), (10, 3)], &[(9, 0), (12, 0)]),
        ("sm_120a", &[(12, 0)], &[(12, 1), (10, 0)]),
        ("sm_120f", &[(12, 0), (12, 1)], &[(10, 0)]),
    ] {
        assert!(runs.iter().all(|&capability| loads(target, capability)), "{target}");
        assert!(!fails.iter().any(|&capability| loads(target, capability)), "{target}");
    }
}

#[test]
fn deep_nesting_and_other_alphabets_are_errors() {
    let expression = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    for text in [
        format!(".version 8.0\n.target sm_80\n.global .b32 x = {expression};\n"),
        format!(".version 8.0\n.target sm_80\n.global .b32 x[] = {}1;\n", "{".repeat(5000)),
        ".version 8.0\n.target sm_80\n.global .b32 é;\n".to_string(),
        ".version 8.0\n.target sm_80\n.visible .entry k() { mov.u32 ü, 1 / 0; }\n".to_string(),
    ] {
        survives(&text).expect("survives");
    }
}

#[test]
fn unsupported_bodies_are_named() {
    for (body, expected) in [
        ("\n  .reg .v4444400000 .b32 %v;", "line 6: a vector of 4444400000 elements"),
        ("bra NOWHERE;", "a branch to an undefined label"),
        ("add.s32 %r1, %r2;", "add.s32 with these operands"),
        ("mov.u32 %r1, %nowhere;", "unknown name `%nowhere`"),
        ("mov.u32 %x9, 1;", "undeclared register `%x9`"),
        ("bar.sync 3, 32, 1;", "a barrier with these operands"),
        ("\n  add.s32 %r1 %r2;", "line 6: expected `,`, got Word(\"%r2\")"),
    ] {
        let text = format!(".version 8.0\n.target sm_80\n.visible .entry k()\n{{ .reg .b32 %r<4>;\n{body}\nret; }}\n");
        let mut device = Device::new(0, &Config::default());
        let fault = launch(&mut device, &text, "k", Shape::line(1, 32), Vec::new()).expect_err(body);
        assert_eq!(fault.to_string(), format!("snuffer-sim: unsupported: k: {expected}"));
    }
}

#[test]
fn a_variable_that_cannot_hold_its_initial_values_is_named() {
    for (initializer, problem) in [
        (".u64 table[1] = {nowhere}", "cannot hold the address of"),
        (".u32 table[1] = {table}", "cannot hold the address of"),
        (".u32 table[1] = {1, 2}", "has more initial values than room"),
        (".u8 table[4000000000] = {1}", "is larger than the memory"),
        (".u8 table[2][900000000] = {{1}, {2}}", "is larger than the memory"),
    ] {
        let text = format!(".version 8.0\n.target sm_80\n.global {initializer};\n.visible .entry k()\n{{ ret; }}\n");
        let mut device = Device::new(0, &Config { memory: 1 << 20, ..Config::default() });
        let fault = launch(&mut device, &text, "k", Shape::line(1, 32), Vec::new()).expect_err(initializer);
        assert!(fault.to_string().contains(&format!("`table` {problem}")), "{fault}");
    }
}
