//! Mutations: small, named, deterministic changes, most of which a kernel's result shows.

use std::process::Command;

use simulator::{Config, Device};

use crate::machine::{Shape, launch, upload};

/// Each thread adds up its row, all of whose elements matter.
const KERNEL: &str = include_str!("../mutate/sums.ptx");

const SEEDS: u64 = 50;

/// What the kernel writes under the mutation of a seed, or its fault.
fn outcome(seed: Option<u64>) -> Result<Vec<u8>, String> {
    let mutate = seed.map(|seed| format!("k:{seed}").parse().expect("a mutation"));
    let mut device = Device::new(0, &Config { budget: 100_000, mutate, ..Config::default() });
    let from: Vec<u8> = (0..40 * 8 * 4).map(|at| (at % 251) as u8).collect();
    let from = upload(&mut device, &from);
    let to = upload(&mut device, &[0; 40 * 4]);
    let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
    launch(&mut device, KERNEL, "k", Shape::line(1, 64), params).map_err(|fault| fault.to_string())?;
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
    // The device names it on the error stream, so another process is asked.
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
fn text_that_is_no_mutation_is_an_error() {
    for text in ["", "k", "k:", "k:x", "7:seven"] {
        assert!(text.parse::<simulator::Mutation>().is_err(), "{text}");
    }
}
