//! Records golden vectors on a device.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};

use super::choose::Chosen;
use super::file::{Head, Recording, Vector};
use super::{forms, results};
use crate::case::Case;
use crate::exec::{Answer, Worker};
use crate::fidelity::{bits, hex};
use crate::outcome::Outcome;
use crate::settle::versions;

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Forms.
    pub forms: usize,
    /// Forms that the device does not take.
    pub refused: usize,
    /// Cases of ops.
    pub cases: usize,
    /// Cases that did not return there, or not the same twice.
    pub left_out: usize,
}

/// Records every form and the chosen cases on the device of `worker`, in files of the folder `into`.
pub fn record(
    worker: &mut Worker,
    chosen: &Chosen,
    stand_in: bool,
    into: &Path,
    on_vector: &dyn Fn(&str),
) -> anyhow::Result<Recorded> {
    let hardware = worker.hello().hardware.clone().context("golden vectors need a CUDA device")?;
    if hardware.driver.is_none() && !stand_in {
        bail!("{hardware} has no GPU driver, so it is not hardware; `--stand-in` records it anyway, as a stand-in");
    }
    let head = Head { versions: versions(None), stand_in, hardware };
    let mut recorded = Recorded { forms: 0, refused: 0, cases: 0, left_out: 0 };
    let mut files: BTreeMap<String, Recording> = BTreeMap::new();
    for form in forms::all() {
        on_vector(form.name);
        match returned(worker, &form.case())? {
            Some(outcome) => {
                let words = outcome
                    .outputs
                    .iter()
                    .flat_map(|tensor| tensor.expanded().into_iter().map(|value| hex(8, bits(tensor.dtype, value))));
                let words: Vec<String> = words.map(|word| short(&word)).collect();
                let line = format!("{:016x}: {}", form.hash(), words.join(" "));
                let name = format!("forms-{}", form.family);
                entry(&mut files, &head, name).forms.insert(form.name.to_string(), line);
                recorded.forms += 1;
            }
            None => recorded.refused += 1,
        }
    }
    for (case, kernels) in &chosen.cases {
        on_vector(&case.op);
        match returned(worker, case)? {
            Some(outcome) => {
                let family = case.op.split('.').next().unwrap_or(&case.op).to_string();
                let (kernels, results) = (kernels.iter().cloned().collect(), results::lines(&outcome));
                entry(&mut files, &head, family).vectors.push(Vector { kernels, results, case: case.clone() });
                recorded.cases += 1;
            }
            None => recorded.left_out += 1,
        }
    }
    files.iter().try_for_each(|(name, file)| file.keep(&into.join(format!("{name}.toml"))))?;
    Ok(recorded)
}

fn entry<'a>(files: &'a mut BTreeMap<String, Recording>, head: &Head, name: String) -> &'a mut Recording {
    let new = || Recording { recorded: head.clone(), forms: BTreeMap::new(), vectors: Vec::new() };
    files.entry(name).or_insert_with(new)
}

/// What `case` returns, if it returns the same twice.
fn returned(worker: &mut Worker, case: &Case) -> anyhow::Result<Option<crate::outcome::Returned>> {
    let Answer { outcome, again, .. } = worker.run(case)?;
    Ok(match outcome {
        Outcome::Returned(returned) if again.is_none() => Some(returned),
        _ => None,
    })
}

/// A number without leading zeros.
fn short(word: &str) -> String {
    let digits = word.trim_start_matches('0');
    if digits.is_empty() { "0" } else { digits }.to_string()
}
