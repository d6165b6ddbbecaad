//! What a comparison comes to, as it is printed and kept.

use schemars::JsonSchema;
use serde::Serialize;

use super::disagreement::Disagreement;
use super::judge::Standing;
use super::tally::{Ends, Row, Tally};
use super::{LATITUDES, Plan};
use crate::device::Hardware;
use crate::exec::Hello;
use crate::settle::versions;

/// One of the two devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// The device, such as `cuda:0`.
    pub device: String,
    /// Its hardware.
    pub hardware: Option<Hardware>,
    /// Variables that only its worker had.
    pub variables: Vec<String>,
}

impl Side {
    /// The device of a worker with this first message.
    pub fn new(hello: &Hello) -> Self {
        Self { device: hello.device.to_string(), hardware: hello.hardware.clone(), variables: Vec::new() }
    }
}

/// What the documents leave open, and how many cases have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Open {
    /// How the names of the forms, or of the library's functions, begin.
    pub of: String,
    /// What is left open.
    pub words: String,
    /// Where that is documented.
    pub source: String,
}

/// The result of a comparison.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Fidelity {
    /// The versions of `snuffer` and candle.
    pub versions: String,
    /// The simulated device, and the device that it was compared with.
    pub devices: Vec<Side>,
    /// The seed of the cases.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// The index of the next case, for `--first`.
    pub next: u64,
    /// Whether all cases of the plan were run.
    pub finished: bool,
    /// The counts of all cases.
    pub total: Row,
    /// The counts of each op, the worst first.
    pub ops: Vec<Row>,
    /// The counts of each kernel, the worst first.
    pub kernels: Vec<Row>,
    /// The counts of each PTX form of these kernels, the worst first.
    pub forms: Vec<Row>,
    /// How cases end on the two devices, those that end differently first.
    pub ends: Vec<Ends>,
    /// The minimized disagreements, the worst first.
    pub disagreements: Vec<Disagreement>,
    /// What counts as documented latitude.
    pub open: Vec<Open>,
}

impl Fidelity {
    pub(super) fn new(
        plan: &Plan,
        mut devices: Vec<Side>,
        tally: Tally,
        mut disagreements: Vec<Disagreement>,
        seconds: f64,
        next: u64,
    ) -> Self {
        for (side, device) in devices.iter_mut().zip(plan.devices) {
            let variables = plan.spec_of(device).variables.into_iter();
            side.variables = variables.map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect();
        }
        for found in &mut disagreements {
            tally.by_suspicion(&mut found.kernels);
        }
        disagreements.sort_by(|a, b| (a.standing, &a.op, &a.what).cmp(&(b.standing, &b.op, &b.what)));
        let [ops, kernels, forms] = tally.rows();
        let open = LATITUDES.iter().map(|latitude| Open {
            of: latitude.of.to_string(),
            words: latitude.words.to_string(),
            source: latitude.source.to_string(),
        });
        Self {
            versions: versions(None),
            devices,
            seed: plan.seed,
            seconds,
            next,
            finished: !plan.has(next),
            ops,
            kernels,
            forms,
            ends: tally.ends(),
            disagreements,
            open: open.collect(),
            total: Row { name: "all".to_string(), ..tally.total },
        }
    }

    /// Writes each disagreement once more, now that it is known which kernels are suspect.
    pub(super) fn keep(&self, plan: &Plan) -> anyhow::Result<()> {
        self.disagreements.iter().try_for_each(|found| found.keep(plan))
    }

    /// The disagreements of this standing.
    pub fn of(&self, standing: Standing) -> impl Iterator<Item = &Disagreement> {
        self.disagreements.iter().filter(move |found| found.standing == standing)
    }
}
