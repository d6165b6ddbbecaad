//! Executes every form of the instruction table that computes, and compares it bit by bit with its oracle.

use std::collections::BTreeSet;

use simulator::isa;

use crate::isa_tables;
use crate::machine::{HEADER, Shape, longs, run, table};
use crate::oracle::{self, Oracle};
use crate::types::{Type, tuples};

/// The kernel that executes the oracle's instructions, one tuple of operands per thread.
fn kernel(oracle: &Oracle) -> String {
    let mut text = format!("{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n");
    text += ".reg .b32 %i<4>;\n.reg .b64 %l<6>;\n";
    let operands = oracle.from.iter().enumerate().map(|(number, one)| (format!("%a{number}"), *one));
    let results = oracle.to.iter().enumerate().map(|(number, one)| (format!("%d{number}"), *one));
    for (name, one) in operands.clone().chain(results.clone()) {
        match one {
            Type::Pred => text += &format!(".reg .pred {name};\n"),
            _ => text += &format!(".reg .b{} {name};\n", one.register()),
        }
    }
    text += "mov.u32 %i0, %ctaid.x;\nmov.u32 %i1, %ntid.x;\nmov.u32 %i2, %tid.x;\nmad.lo.s32 %i3, %i0, %i1, %i2;\n";
    text += "ld.param.u64 %l0, [from];\nld.param.u64 %l1, [to];\n";
    text += &format!("mul.wide.s32 %l2, %i3, {};\nadd.s64 %l0, %l0, %l2;\n", 8 * oracle.from.len());
    text += &format!("mul.wide.s32 %l3, %i3, {};\nadd.s64 %l1, %l1, %l3;\n", 8 * oracle.to.len());
    for (number, (name, one)) in operands.enumerate() {
        let at = 8 * number;
        text += &match one {
            Type::Pred => format!("ld.global.u32 %i0, [%l0+{at}];\nsetp.ne.s32 {name}, %i0, 0;\n"),
            _ => format!("ld.global.b{} {name}, [%l0+{at}];\n", one.register()),
        };
    }
    text += &oracle.code;
    for (number, (name, one)) in results.enumerate() {
        let at = 8 * number;
        text += &match one {
            Type::Pred => format!("\nselp.b32 %i0, 1, 0, {name};\nst.global.b32 [%l1+{at}], %i0;"),
            _ => format!("\nst.global.b{} [%l1+{at}], {name};", one.register()),
        };
    }
    text + "\nret;\n}\n"
}

/// The differences from the oracle for at most so many tuples of edges, a line each.
fn differences(name: &str, oracle: &Oracle, few: usize) -> Vec<String> {
    let few = if oracle.to.len() > 16 { 64 } else { few };
    let tuples = tuples(&oracle.from, few);
    let to_bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let from = tuples.iter().flat_map(|tuple| to_bytes(tuple)).collect();
    let mut buffers = [from, vec![0; 8 * oracle.to.len() * tuples.len()]];
    if let Err(fault) = run(&kernel(oracle), Shape::line(tuples.len() / 32, 32), &mut buffers, &[]) {
        return vec![format!("{name}: {fault}")];
    }
    let mut lines = Vec::new();
    for (tuple, results) in tuples.iter().zip(longs(&buffers[1]).chunks(oracle.to.len())) {
        let expected = (oracle.value)(tuple);
        assert_eq!(expected.len(), results.len(), "{name}");
        for (place, one) in oracle.to.iter().enumerate() {
            let (expected, got) = (expected[place], results[place]);
            let loose = oracle.any_nan || *one == Type::F64;
            if expected != got && !(loose && one.one_nan(expected) == one.one_nan(got)) {
                lines.push(format!("{name} {tuple:x?}: result {place} is {got:x}, not {expected:x}"));
            }
        }
    }
    lines.truncate(3);
    lines
}

fn check(oracle: fn(&str) -> Option<Oracle>, least: usize) {
    let forms: Vec<(String, Oracle)> =
        table().into_iter().filter_map(|name| oracle(&name).map(|oracle| (name, oracle))).collect();
    let mut lines: Vec<String> = forms.iter().flat_map(|(name, oracle)| differences(name, oracle, 8000)).collect();
    // What is made of these by something before or after them.
    let known: BTreeSet<&str> = forms.iter().map(|(name, _)| name.as_str()).collect();
    for name in isa_tables::names() {
        let oracle = oracle(&name).filter(|_| !known.contains(name.as_str()) && isa::form(&name).is_some());
        lines.extend(oracle.into_iter().flat_map(|oracle| differences(&name, &oracle, 100)));
    }
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    assert!(forms.len() >= least, "only {} forms are of this family", forms.len());
}

#[test]
fn integer_arithmetic_agrees_with_wide_integers() {
    check(oracle::integer::of, 60);
}

#[test]
fn carry_chains_agree_with_wide_integers() {
    check(oracle::carry::of, 24);
}

#[test]
fn logic_and_bit_fields_agree_with_loops_over_bits() {
    check(oracle::logic::of, 38);
}

#[test]
fn comparisons_and_selection_agree_with_the_definition() {
    check(oracle::compare::of, 500);
}

#[test]
fn floating_point_agrees_with_a_software_implementation() {
    check(oracle::float::of, 80);
}

#[test]
fn approximations_are_the_correctly_rounded_values() {
    check(oracle::approximate::of, 14);
}

#[test]
fn conversions_agree_with_a_software_implementation() {
    check(oracle::convert::of, 200);
}

#[test]
fn moves_put_bits_side_by_side() {
    check(oracle::moves::of, 20);
}

#[test]
fn video_instructions_agree_with_a_loop_over_bytes() {
    check(oracle::video::of, 24);
}

#[test]
fn every_form_of_the_table_has_a_test() {
    let texts: String = crate::passes::texts().chain(crate::faults::texts()).collect();
    let words: std::collections::HashSet<&str> =
        texts.lines().filter(|line| !line.starts_with("//")).flat_map(|line| line.split([' ', ';'])).collect();
    let untested: Vec<String> = table()
        .into_iter()
        .filter(|name| {
            let computed = oracle::FAMILIES.iter().any(|(_, of)| of(name).is_some());
            let memory = crate::memory::covers(name) || crate::atomics::covers(name) || crate::matrices::covers(name);
            !computed
                && !memory
                && !crate::gathers::covers(name)
                && !crate::ordering::covers(name)
                && !words.contains(name.as_str())
        })
        .collect();
    assert!(untested.is_empty(), "nothing executes {}", untested.join(", "));
}

/// True for a form that compute capability 9.0, on which forms are recorded, does not have.
fn is_newer(name: &str) -> bool {
    let mixed = [".f32.f16", ".f32.bf16"].iter().any(|types| name.ends_with(types));
    name.contains(".f32x2") || mixed && ["add", "sub", "fma"].iter().any(|first| name.starts_with(first))
}

#[test]
fn the_list_of_forms_to_record_on_hardware_is_that_of_the_oracles() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpora/forms.tsv");
    let mut text = String::from("family\tform\toperands\tresults\tcode\n");
    for (family, of) in oracle::FAMILIES {
        let recorded = table().into_iter().filter(|name| !is_newer(name));
        for (name, oracle) in recorded.filter_map(|name| Some((name.clone(), of(&name)?))) {
            let names = |types: &[Type]| types.iter().map(|one| one.name()).collect::<Vec<_>>().join(" ");
            let (from, to, code) = (names(&oracle.from), names(&oracle.to), oracle.code.replace('\n', " "));
            text += &format!("{family}\t{name}\t{from}\t{to}\t{}\n", code.trim());
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).expect("written");
    }
    let kept = std::fs::read_to_string(path).expect("corpora/forms.tsv");
    assert!(kept == text, "corpora/forms.tsv is old: UPDATE_GOLDEN=1 cargo test -p snuffer-simulator writes it");
}

#[test]
fn every_form_is_found_by_its_name() {
    for name in table() {
        assert!(simulator::isa::form(&name).is_some(), "{name}");
    }
}
