//! Mutations: small, named, deterministic changes, most of which change a kernel's result.

use std::process::Command;

use simulator::{Change, Config, Device, Mutation};

use crate::machine::{HEADER, Shape, launch, upload};

/// Each thread adds up its row, all of whose elements matter.
const KERNEL: &str = include_str!("../mutate/sums.ptx");

const SEEDS: u64 = 50;

/// The kernel's output under the mutation of a seed, or its fault.
fn outcome(seed: Option<u64>) -> Result<Vec<u8>, String> {
    run(seed.map(|seed| format!("k:{seed}").parse().expect("a mutation")))
}

/// The kernel's output under the mutation of this name.
fn mutant(name: &str) -> Result<Vec<u8>, String> {
    run(Some(name.parse().expect("a mutation")))
}

fn run(mutate: Option<Mutation>) -> Result<Vec<u8>, String> {
    run_on(&mut with_mutation(mutate))
}

fn with_mutation(mutate: Option<Mutation>) -> Device {
    Device::new(0, &Config { budget: 100_000, mutate, ..Config::default() })
}

fn run_on(device: &mut Device) -> Result<Vec<u8>, String> {
    let from: Vec<u8> = (0..40 * 8 * 4).map(|at| (at % 251) as u8).collect();
    let from = upload(device, &from);
    let to = upload(device, &[0; 40 * 4]);
    let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
    launch(device, KERNEL, "k", Shape::line(1, 64), params).map_err(|fault| fault.to_string())?;
    Ok(device.bytes(to, 40 * 4).expect("allocated").to_vec())
}

#[test]
fn at_least_half_of_the_mutants_are_noticed() {
    let healthy = outcome(None);
    assert!(healthy.is_ok());
    let noticed = (0..SEEDS).filter(|&seed| outcome(Some(seed)) != healthy).count();
    assert!(noticed >= SEEDS as usize / 2, "only {noticed} of {SEEDS}");
}

#[test]
fn a_seed_makes_the_same_mutant_every_time() {
    for seed in 0..SEEDS {
        assert_eq!(outcome(Some(seed)), outcome(Some(seed)), "seed {seed}");
    }
}

#[test]
fn every_mutant_is_named_with_its_place() {
    // The device prints its name on the error stream, so that another process is run.
    let names = || {
        let this = std::env::current_exe().expect("a test");
        let test = ["mutation::at_least_half_of_the_mutants_are_noticed", "--exact", "--nocapture"];
        let output = Command::new(this).args(test).output().expect("runs");
        let text = String::from_utf8(output.stderr).expect("text");
        text.lines().filter_map(|line| line.strip_prefix("snuffer-sim: mutated k: ").map(str::to_string)).collect()
    };
    let first: Vec<String> = names();
    assert_eq!(first.len(), SEEDS as usize);
    assert!(first.iter().all(|name| name.contains(" at sums.cu:")), "{first:#?}");
    assert_eq!(first, names());
    let mut different = first.clone();
    different.sort_unstable();
    different.dedup();
    assert!(different.len() > 10, "only {different:#?}");
    // There are only a sum and a product, and a seed does not select a change without effect.
    assert!(!different.contains(&"operands are swapped at sums.cu:8".to_string()));
}

#[test]
fn a_mutation_of_another_kernel_changes_nothing() {
    let mutate = Some("other:3".parse().expect("a mutation"));
    let mut device = Device::new(0, &Config { mutate, ..Config::default() });
    let from = upload(&mut device, &[1; 40 * 8 * 4]);
    let to = upload(&mut device, &[0; 40 * 4]);
    let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
    assert_eq!(launch(&mut device, KERNEL, "k", Shape::line(1, 64), params), Ok(()));
    let first = device.bytes(to, 4).expect("allocated");
    assert_eq!(first, (8 * 0x0101_0101u32).to_le_bytes());
}

#[test]
fn malformed_mutations_are_errors() {
    for text in ["", "k", "k:", "k:x", "7:seven", "#3", "k:#", "k:#x"] {
        assert!(text.parse::<Mutation>().is_err(), "{text}");
    }
}

/// The changes that can be made to the kernel `k` of `text`.
fn changes(text: &str) -> Vec<Change> {
    let mut device = Device::new(0, &Config::default());
    let module = device.load(text).expect("a module");
    let kernel = device.function(module, "k").expect("a kernel");
    device.changes(kernel)
}

#[test]
fn equivalent_changes_do_not_change_the_result() {
    let healthy = outcome(None);
    let (mut same, mut other) = (0, 0);
    for (number, change) in changes(KERNEL).iter().enumerate() {
        let noticed = mutant(&format!("k:#{number}")) != healthy;
        assert!(!(noticed && change.equivalent), "#{number}: {change:?}");
        same += usize::from(change.equivalent);
        other += usize::from(noticed);
    }
    // Five sums and two products commute; neither comparison does.
    assert!(same == 7 && other > 10, "{same} make no difference, {other} are noticed");
}

#[test]
fn a_change_without_a_counted_effect_does_not_change_the_result() {
    let healthy = outcome(None);
    let (mut silent, mut effective) = (0, 0);
    for (number, change) in changes(KERNEL).iter().enumerate() {
        let Some(effect) = change.effect else { continue };
        let mut device = with_mutation(Some(format!("k:#{number}").parse().expect("a mutation")));
        let result = run_on(&mut device);
        let coverage = device.coverage();
        let counts = coverage.iter().find(|kernel| kernel.kernel == "k").expect("launched").branches.clone();
        let counted = counts[effect.branch as usize].counts[usize::from(effect.jump)] > 0;
        assert!(counted || result == healthy, "#{number}: {change:?}");
        silent += usize::from(!counted);
        effective += usize::from(counted && result != healthy);
    }
    assert!(silent > 3 && effective > 10, "{silent} without effect, {effective} with another result");
}

#[test]
fn a_barrier_matters_where_something_written_is_accessed_on_both_sides() {
    const STORE: &str = "st.shared.u32 [s], %r1;";
    const LOAD: &str = "ld.shared.u32 %r1, [s];";
    for (before, behind, matters) in [
        (STORE, LOAD, true),
        (LOAD, STORE, true),
        (STORE, STORE, true),
        (LOAD, LOAD, false),
        (STORE, "", false),
        ("", STORE, false),
        (STORE, "ld.global.u32 %r1, [%rd1];", false),
        (STORE, "ld.u32 %r1, [%rd1];", true),
        ("st.local.u32 [l], %r1;", "ld.local.u32 %r1, [l];", false),
        ("@%p1 bra AGAIN;", STORE, true),
    ] {
        let text = format!(
            "{HEADER}.visible .entry k()\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
             .shared .align 4 .b8 s[4];\n.local .align 4 .b8 l[4];\n\
             AGAIN:\n{before}\nbar.sync 0;\n{behind}\n{}ret;\n}}\n",
            if before.starts_with('@') { "@%p1 bra AGAIN;\n" } else { "" }
        );
        let barrier = changes(&text).into_iter().find(|change| change.what == "a barrier is dropped");
        assert_eq!(!barrier.expect("there is one").equivalent, matters, "{before} and {behind}");
    }
}

#[test]
fn what_a_thread_does_for_its_first_element_is_in_no_further_round() {
    // for (i = tid; i < n; i += ntid * nctaid) out[i] = i, with the second round in a copy of its own.
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n\
         .reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
         mov.u32 %r3, %ntid.x;\nmov.u32 %r4, %nctaid.x;\nmul.lo.s32 %r5, %r3, %r4;\nsetp.ge.u32 %p1, %r2, %r1;\n\
         @%p1 bra DONE;\nst.global.u32 [%rd1], %r2;\nadd.s32 %r6, %r2, %r5;\nsetp.ge.u32 %p2, %r6, %r1;\n\
         @%p2 bra DONE;\nst.global.u32 [%rd1+4], %r6;\nDONE:\nret;\n}}\n"
    );
    let dropped: Vec<bool> = changes(&text)
        .into_iter()
        .filter(|change| change.what == "a store is dropped")
        .map(|change| change.further_round)
        .collect();
    assert_eq!(dropped, [false, true]);
}

#[test]
fn always_taking_the_slow_way_around_a_fast_division_makes_no_difference() {
    // out[0] = n / m, as compilers write it for 64 bits.
    let text = |mask: &str| {
        format!(
            "{HEADER}.visible .entry k(.param .u64 out, .param .u64 n, .param .u64 m)\n{{\n.reg .pred %p<2>;\n\
             .reg .b32 %r<4>;\n.reg .b64 %rd<7>;\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [n];\n\
             ld.param.u64 %rd3, [m];\nand.b64 %rd4, %rd3, {mask};\nsetp.eq.s64 %p1, %rd4, 0;\n@%p1 bra FAST;\n\
             div.u64 %rd5, %rd2, %rd3;\nbra.uni DONE;\nFAST:\ncvt.u32.u64 %r1, %rd2;\ncvt.u32.u64 %r2, %rd3;\n\
             div.u32 %r3, %r1, %r2;\ncvt.u64.u32 %rd5, %r3;\nDONE:\nst.global.u64 [%rd1], %rd5;\nret;\n}}\n"
        )
    };
    let equivalent = |mask: &str| -> Vec<(&str, bool)> {
        let branches = changes(&text(mask)).into_iter();
        let branches = branches.filter(|change| change.what.contains("branch") || change.what.contains("condition"));
        branches.map(|change| (change.what, change.equivalent)).collect()
    };
    let expected = |slow| {
        [("a branch is never taken", slow), ("a branch is always taken", false), ("a condition is inverted", slow)]
    };
    assert_eq!(equivalent("-4294967296"), expected(true));
    assert_eq!(equivalent("-65536"), expected(false));
}
