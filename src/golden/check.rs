//! Checks a device against golden vectors: bit by bit, or within what the documents leave open.

use std::path::{Path, PathBuf};

use half::{bf16, f16};
use schemars::JsonSchema;
use serde::Serialize;

use super::file::{Recording, Vector, files};
use super::forms::{self, FormSpec, layout};
use super::results;
use crate::device::Device;
use crate::exec::{Answer, WorkerSpec};
use crate::fidelity::{Both, Latitude, Simulated, Standing, Values, as_large_as, judge};
use crate::outcome::{Outcome, Returned};
use crate::tensor::Tensor;

/// A vector that a device does not reproduce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// The form, or the op.
    pub name: String,
    /// The kernels of the op's case.
    pub kernels: Vec<String>,
    /// The first element that differs.
    pub difference: String,
    /// The file of the vector.
    pub file: PathBuf,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// The hardware on which the vectors were recorded.
    pub hardware: Vec<String>,
    /// Whether any of it only stood in for hardware.
    pub stand_in: bool,
    /// How many vectors were checked.
    pub vectors: usize,
    /// How many are the same to the bit.
    pub exact: usize,
    /// How many differ within what the documents leave open.
    pub latitude: usize,
    /// How many were not checked, because the form is gone or its operands are others now.
    pub not_run: usize,
    /// Forms without a vector.
    pub without: usize,
    /// The vectors that are not reproduced.
    pub failures: Vec<Failure>,
}

/// Checks the simulated device against every vector in `folder`; `None` if there are none.
pub fn check(
    device: Device,
    spec: &WorkerSpec,
    folder: &Path,
    on_vector: &dyn Fn(&str),
) -> anyhow::Result<Option<Checked>> {
    let paths = files(folder)?;
    if paths.is_empty() {
        return Ok(None);
    }
    let recordings = paths.into_iter().map(|path| Ok((Recording::read(&path)?, path)));
    let recordings = recordings.collect::<anyhow::Result<Vec<_>>>()?;
    let hardware = recordings.first().map(|(recording, _)| &recording.recorded.hardware);
    let mut simulated = Simulated::start(device, &as_large_as(hardware, spec))?;
    let (mut checked, all) = (Checked::default(), forms::all());
    checked.without = all.len();
    for (recording, path) in &recordings {
        checked.stand_in |= recording.recorded.stand_in;
        let hardware = recording.recorded.hardware.to_string();
        if !checked.hardware.contains(&hardware) {
            checked.hardware.push(hardware);
        }
        for (name, line) in &recording.forms {
            on_vector(name);
            let found = all.iter().find(|form| form.name == name);
            let results = found.and_then(|form| line.strip_prefix(&format!("{:016x}: ", form.hash())));
            let Some((form, results)) = found.zip(results) else {
                checked.not_run += 1;
                continue;
            };
            checked.without -= 1;
            let outcome = simulated.run(&form.case())?.0.outcome;
            checked.count(form_difference(form, results, &outcome), name, &[], path);
        }
        for vector in &recording.vectors {
            on_vector(&vector.case.op);
            let difference = case_difference(&mut simulated, vector)?;
            checked.count(difference, &vector.case.op, &vector.kernels, path);
        }
    }
    Ok(Some(checked))
}

/// How a result relates to the recorded one.
enum Agreement {
    Exact,
    Latitude,
    Differs(String),
}

impl Checked {
    fn count(&mut self, agreement: Agreement, name: &str, kernels: &[String], file: &Path) {
        self.vectors += 1;
        match agreement {
            Agreement::Exact => self.exact += 1,
            Agreement::Latitude => self.latitude += 1,
            Agreement::Differs(difference) => {
                let (name, kernels, file) = (name.to_string(), kernels.to_vec(), file.to_path_buf());
                self.failures.push(Failure { name, kernels, difference, file });
            }
        }
    }
}

/// Compares the results of a form with the recorded ones.
fn form_difference(form: &FormSpec, recorded: &str, outcome: &Outcome) -> Agreement {
    let Outcome::Returned(Returned { outputs, .. }) = outcome else { return Agreement::Differs(outcome.summary()) };
    let now: Vec<u64> = outputs.iter().flat_map(Tensor::ints).map(|bits| bits as u64).collect();
    let then: Vec<u64> = recorded.split(' ').filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
    if now.len() != then.len() {
        return Agreement::Differs(format!("{} results instead of {}", now.len(), then.len()));
    }
    let types: Vec<&str> = form.to.split(' ').collect();
    let mut agreement = Agreement::Exact;
    for (place, (&now, &then)) in now.iter().zip(&then).enumerate() {
        let name = types[place % types.len()];
        if now == then || one_nan(name, now) == one_nan(name, then) {
            continue;
        }
        if !allows(form, name, now, then) {
            let (row, column) = (place / types.len(), place % types.len());
            return Agreement::Differs(format!(
                "result {column} of row {row} is {now:x}, but was {then:x} on hardware"
            ));
        }
        agreement = Agreement::Latitude;
    }
    agreement
}

/// Whether the documented error of a form allows this difference. The halves of a pair are on their own.
fn allows(form: &FormSpec, name: &str, now: u64, then: u64) -> bool {
    if let Some(half) = name.strip_suffix("x2") {
        let halves = [0, 16].map(|at| (now >> at & 0xffff, then >> at & 0xffff));
        let same = |now, then| one_nan(half, now) == one_nan(half, then);
        return halves.into_iter().all(|(now, then)| same(now, then) || allows(form, half, now, then));
    }
    let Some(latitude) = Latitude::of(form.name) else { return false };
    let Some(value) = float(name) else { return false };
    let (exact, got) = (value(now), value(then));
    let magnitude = now & !sign(name);
    let ulp = value(magnitude + 1) - value(magnitude);
    let finite = exact.is_finite() && got.is_finite();
    finite && latitude.allows(exact, ulp).is_none_or(|error| (exact - got).abs() <= error)
}

/// The value of a float of this type, by its bits.
fn float(name: &str) -> Option<fn(u64) -> f64> {
    Some(match name {
        "f16" => |bits| f16::from_bits(bits as u16).into(),
        "bf16" => |bits| bf16::from_bits(bits as u16).into(),
        "f32" => |bits| f32::from_bits(bits as u32).into(),
        "f64" => f64::from_bits,
        _ => return None,
    })
}

/// The bit that is a float's sign.
fn sign(name: &str) -> u64 {
    layout(name).map_or(0, |(exponent, fraction)| 1 << (exponent + fraction))
}

/// The bits with every NaN as one, the halves of a pair on their own.
fn one_nan(name: &str, bits: u64) -> u64 {
    let Some((exponent, fraction)) = layout(name) else { return bits };
    let width = exponent + fraction + 1;
    let canonical = |bits: u64| {
        let ones = |count: u32| u64::MAX.checked_shr(64 - count).unwrap_or(0);
        let float = bits & ones(width);
        let is_nan = float & ones(width - 1) > ones(exponent) << fraction;
        if is_nan { ones(width - 1) } else { float }
    };
    let halves = if name.ends_with("x2") { 2 } else { 1 };
    (0..halves).map(|half| canonical(bits >> (half * width)) << (half * width)).sum()
}

/// Runs the case of a vector and compares its result with the recorded one.
fn case_difference(simulated: &mut Simulated, vector: &Vector) -> anyhow::Result<Agreement> {
    let (answer, launched) = simulated.run(&vector.case)?;
    let Outcome::Returned(returned) = &answer.outcome else {
        return Ok(Agreement::Differs(answer.outcome.summary()));
    };
    let Some(difference) = results::first_difference(&vector.results, returned) else { return Ok(Agreement::Exact) };
    let Some(then) = results::recorded(&vector.results, returned) else { return Ok(Agreement::Differs(difference)) };
    let other = Answer::from(Outcome::Returned(then));
    let both = Both { simulated: answer, other, launched };
    Ok(match judge(simulated, &vector.case, &both, &mut Values::default())? {
        Some(judged) if judged.standing == Standing::DocumentedLatitude => Agreement::Latitude,
        Some(_) => Agreement::Differs(difference),
        // All that is written agrees, and the hash of the rest does not.
        None if simulated.latitudes(&both.launched).is_empty() => Agreement::Differs(difference),
        None => Agreement::Latitude,
    })
}
