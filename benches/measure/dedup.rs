//! Measures how well signatures tell causes apart, on planted bugs: the faults of the canary, and changes of one instruction
//! in candle's kernels on the simulated device.
//!
//! Words, such as `badd_f32:3`, are planted instead of the default bugs.

mod pairs;
mod planted;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Context;
use pairs::Pairs;
use planted::{DEVICES, Drawn, Noticed, canary_fault, fails, notice};
use snuffer::device::Device;
use snuffer::exec::{Executor, WorkerSpec, environment};
use snuffer::ops::{self, canary};
use snuffer::oracle::Signature;
use snuffer::store::Cause;

/// The variable with the change for the simulated device: `KERNEL:SEED`.
const VARIABLE: &str = environment::MUTATE;

/// How many cases of each op are drawn.
const DRAWN: u64 = 100;

/// The bugs in kernels, each noticed by a drawn case: arithmetic, comparison, reduction, conversion, indexing,
/// convolution, pooling and sampling, fused layers, copies.
#[rustfmt::skip]
const MUTANTS: &[&str] = &[
    "affine_f64:2", "badd_f32:12", "bmaximum_f32:5", "bmul_f32:3", "bsub_f32:1", "eq_f32:1", "gt_f32:13",
    "uabs_f32:3", "uerf_f32:2", "uexp_f32:1", "ugelu_erf_f32:14", "ulog_f32:11", "urelu_f32:14", "usilu_bf16:6",
    "usin_f32:14", "usqr_f32:13", "usqrt_f32:3", "utanh_f32:3",
    "fast_argmin_f32:4", "fast_max_f32:3", "fast_sum_f32:2", "fast_sum_f64:13", "fast_sum_small_f32:11",
    "cast_f32_f16:2", "cast_f32_f64:3",
    "gather_i64_f32:2", "gather_u32_f32:14", "ia_u32_f32:3", "is_u32_f32:11", "s_i64_f32:14", "sa_u32_f32:12",
    "col2im1d_f32:2", "conv_transpose1d_f32:1", "conv_transpose2d_f32:3", "im2col_f32:1",
    "avg_pool2d_f32:1", "max_pool2d_f32:14", "upsample_bilinear2d_f32:4", "upsample_nearest2d_f32:11",
    "asort_asc_f32:14", "layernorm_f32:3", "rmsnorm_f32:3", "rope_f32:12", "rope_i_f32:2", "rope_thd_f32:3",
    "softmax_f32:2",
    "const_set_f32:13", "copy2d_f32:2", "ucopy_f32:3", "where_u8_f32:1",
];

/// The kernels that the cases of each op launch.
type Launched = BTreeMap<String, BTreeSet<String>>;

/// A failing case.
struct Failure<'a> {
    bug: &'a str,
    signature: &'a Signature,
}

/// True if this process was started for one planted bug.
pub fn is_planted() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Reads cases from the standard input, and writes what the planted bug does to them.
pub fn in_this_process() -> anyhow::Result<()> {
    let noticed = notice(rmp_serde::from_read(std::io::stdin())?)?;
    Ok(std::io::stdout().write_all(&rmp_serde::to_vec_named(&noticed)?)?)
}

pub fn measure(words: &[String]) -> anyhow::Result<()> {
    let mutants: Vec<&str> =
        if words.is_empty() { MUTANTS.to_vec() } else { words.iter().map(String::as_str).collect() };
    let (drawn, launched) = healthy()?;
    let mut bugs: Vec<(&str, Noticed)> = Vec::new();
    for &mutant in &mutants {
        let kernel = mutant.rsplit_once(':').map_or(mutant, |(kernel, _)| kernel);
        let concerned = |drawn: &&Drawn| launched[&drawn.op].contains(kernel);
        let noticed = plant(mutant, &drawn.iter().filter(concerned).collect::<Vec<_>>())?;
        eprintln!("{mutant}: {} failures, {} findings", noticed.failures.len(), noticed.findings.len());
        bugs.push((mutant, noticed));
    }
    if words.is_empty() {
        let mut executor = Executor::start(&[Device::Sim(0)], &WorkerSpec::default())?;
        for fault in canary::faults(&[Device::Sim(0)]) {
            bugs.push((fault.name, canary_fault(&mut executor, fault.name)?));
        }
    }
    print!("{}", signatures(&bugs));
    print!("{}", healthy_too(&bugs)?);
    Ok(())
}

/// All drawn cases with their failures without a planted bug, and the kernels that the cases of each op launch.
fn healthy() -> anyhow::Result<(Vec<Drawn>, Launched)> {
    let mut drawn = Vec::new();
    let mut launched = BTreeMap::new();
    for op in ops::ALL.iter().filter(|op| op.name != canary::CANARY.name) {
        let mut executor = Executor::start(&DEVICES, &WorkerSpec::default())?;
        for index in 0..DRAWN {
            let mut one = Drawn { op: op.name.to_string(), index, healthy: Vec::new() };
            one.healthy = fails(&mut executor, &one.case())?;
            drawn.push(one);
        }
        let kernels = executor.finish()?.kernels.into_keys().map(|(_, kernel)| kernel).collect();
        launched.insert(op.name.to_string(), kernels);
    }
    // One case of each op, then the next of each, as a hunt draws them.
    drawn.sort_by_key(|drawn| drawn.index);
    Ok((drawn, launched))
}

/// What a process notices in which `mutant` is planted.
fn plant(mutant: &str, drawn: &[&Drawn]) -> anyhow::Result<Noticed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(VARIABLE, mutant).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    // The child reads all of its input before it writes.
    child.stdin.take().context("a pipe")?.write_all(&rmp_serde::to_vec_named(drawn)?)?;
    let output = child.wait_with_output()?;
    rmp_serde::from_slice(&output.stdout).with_context(|| format!("{mutant} could not be planted"))
}

/// Findings whose minimized case fails alike without the planted bug: the minimizer slipped to a bug of candle.
fn healthy_too(bugs: &[(&str, Noticed)]) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut executor = Executor::start(&DEVICES, &WorkerSpec::default())?;
    for (bug, noticed) in bugs {
        for (signature, (case, _)) in noticed.findings.iter().filter(|(_, (case, _))| case.op != canary::CANARY.name) {
            if fails(&mut executor, case)?.iter().any(|own| own.to_string() == *signature) {
                text += &format!("without {bug}, too: {signature}\n");
            }
        }
    }
    Ok(text)
}

/// How many signatures a bug has in each op in which it shows, on average: those of the main violations, and all.
fn for_each_cause(bugs: &[(&str, Noticed)]) -> String {
    let average = |signatures: &dyn Fn(&Noticed) -> BTreeSet<Signature>| {
        let all: Vec<BTreeSet<Signature>> = bugs.iter().map(|(_, noticed)| signatures(noticed)).collect();
        let ops = all.iter().map(|own| own.iter().map(|one| &one.op).collect::<BTreeSet<_>>().len());
        all.iter().map(BTreeSet::len).sum::<usize>() as f64 / ops.sum::<usize>() as f64
    };
    let main = average(&|noticed| noticed.failures.iter().map(|(_, signature)| signature.clone()).collect());
    format!("{main:.2} main, {:.2} in all", average(&|noticed| noticed.signatures.clone()))
}

/// How well `snuffer findings similar` groups the findings of planted changes of kernels.
fn similar(bugs: &[(&str, Noticed)]) -> Pairs {
    let findings: Vec<(&str, &str, Option<Cause>)> = bugs
        .iter()
        .flat_map(|(bug, noticed)| {
            let of_kernels = noticed.findings.values().filter(|(case, _)| case.op != canary::CANARY.name);
            of_kernels.map(|(case, violation)| (*bug, case.op.as_str(), Cause::of(violation)))
        })
        .collect();
    Pairs::of(
        &findings,
        |(_, a, _), (_, b, _)| a != b,
        |(.., a), (.., b)| a.is_some() && a == b,
        |(a, ..), (b, ..)| a == b,
    )
}

/// Precision and recall of signatures, and the causes that they split or merge.
fn signatures(bugs: &[(&str, Noticed)]) -> String {
    let failures =
        bugs.iter().flat_map(|(bug, noticed)| noticed.failures.iter().map(|(_, signature)| Failure { bug, signature }));
    let failures: Vec<Failure> = failures.collect();
    let one_op = |a: &Failure, b: &Failure| a.signature.op == b.signature.op;
    let called = |a: &Failure, b: &Failure| a.signature == b.signature;
    let truly = |a: &Failure, b: &Failure| a.bug == b.bug;
    let mut text = format!("{} bugs, {} failures\n\n", bugs.len(), failures.len());
    text += "| | precision | recall |\n|---|---|---|\n";
    text += &format!("| within one op | {} |\n", Pairs::of(&failures, one_op, called, truly).row());
    let in_kernels = |a: &Failure, b: &Failure| one_op(a, b) && a.signature.op != canary::CANARY.name;
    let kernels = Pairs::of(&failures, in_kernels, called, truly);
    text += &format!("| within one op, without the canary | {} |\n", kernels.row());
    text += &format!("| over everything | {} |\n", Pairs::of(&failures, |_, _| true, called, truly).row());
    text += &format!("| findings of different ops, by `snuffer findings similar` | {} |\n\n", similar(bugs).row());
    text += &format!("signatures for each bug and op: {}\n", for_each_cause(bugs));
    let mut split: BTreeMap<(&str, &str), BTreeMap<String, usize>> = BTreeMap::new();
    let mut merged: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for Failure { bug, signature } in &failures {
        *split.entry((bug, &signature.op)).or_default().entry(signature.to_string()).or_default() += 1;
        *merged.entry(signature.to_string()).or_default().entry(bug).or_default() += 1;
    }
    for (bug, noticed) in bugs {
        let main = |it: &&Signature| noticed.failures.iter().any(|(_, main)| main == *it);
        for signature in noticed.signatures.iter().filter(|it| !main(it)) {
            text += &format!("beside the main one: {bug} in {signature}\n");
        }
    }
    for ((bug, op), signatures) in split.iter().filter(|(_, signatures)| signatures.len() > 1) {
        text += &format!("split: {bug} in {op}: {signatures:?}\n");
    }
    for (signature, bugs) in merged.iter().filter(|(_, bugs)| bugs.len() > 1) {
        text += &format!("merged: {signature}: {bugs:?}\n");
    }
    text
}
