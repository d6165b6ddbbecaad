//! Counts of a comparison: by op, kernel and PTX form, and by how the outcomes end.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::difference::class;
use super::judge::Standing;
use super::pair::Both;
use super::values::Values;

/// The counts of an op, kernel or form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// The name.
    pub name: String,
    /// How many cases: of the op, or that launched the kernel, or a kernel with the form.
    pub cases: u64,
    /// How many of them agree in every bit.
    pub agree: u64,
    /// How many differ as the documents allow.
    pub latitude: u64,
    /// How many only one device can judge.
    pub hardware_only: u64,
    /// How many differ, and nothing documented allows it.
    pub wrong: u64,
    /// The elements of all these cases.
    pub values: Values,
}

/// How many cases end in one way on one device and in another way on the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ends {
    /// On the simulated device: `returned`, `rejected`, `panicked`, `faulted: assert at candle-kernels/src/indexing.cu:102`, …
    pub simulated: String,
    /// On the other device.
    pub other: String,
    /// How many cases.
    pub cases: u64,
}

/// All counts.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// How many cases ran on both devices.
    pub cases: u64,
    /// The counts of all cases.
    pub total: Row,
    ops: BTreeMap<String, Row>,
    kernels: BTreeMap<String, Row>,
    forms: BTreeMap<String, Row>,
    ends: BTreeMap<(String, String), u64>,
}

impl Row {
    fn count(&mut self, standing: Option<Standing>, values: &Values) {
        self.cases += 1;
        *match standing {
            None => &mut self.agree,
            Some(Standing::DocumentedLatitude) => &mut self.latitude,
            Some(Standing::HardwareOnly) => &mut self.hardware_only,
            Some(Standing::SimulatorWrong) => &mut self.wrong,
        } += 1;
        self.values.add(values);
    }

    /// How suspect the op, kernel or form is, first of what nothing documented allows, then of all that differs: Ochiai's
    /// coefficient, with which faults are located by which tests fail. It is 1 if just the cases of this row differ.
    fn suspicion(&self, total: &Self) -> [f64; 2] {
        let coefficient = |own: u64, all: u64| own as f64 / (all as f64 * self.cases as f64).sqrt().max(1.0);
        [coefficient(self.wrong, total.wrong), coefficient(self.cases - self.agree, total.cases - total.agree)]
    }
}

impl Tally {
    /// Counts a case of `op`.
    pub fn count(
        &mut self,
        op: &str,
        both: &Both,
        forms: &BTreeSet<String>,
        standing: Option<Standing>,
        values: &Values,
    ) {
        self.cases += 1;
        self.total.count(standing, values);
        let of = |rows: &mut BTreeMap<String, Row>, name: &str| {
            let row = rows.entry(name.to_string()).or_insert_with(|| Row { name: name.to_string(), ..Row::default() });
            row.count(standing, values);
        };
        of(&mut self.ops, op);
        both.launched.kernels.iter().chain(&both.launched.libraries).for_each(|name| of(&mut self.kernels, name));
        for name in forms {
            of(&mut self.forms, name);
        }
        *self.ends.entry((class(&both.simulated.outcome), class(&both.other.outcome))).or_default() += 1;
    }

    /// The rows of ops, kernels and forms, the worst first.
    pub fn rows(&self) -> [Vec<Row>; 3] {
        [&self.ops, &self.kernels, &self.forms].map(|rows| {
            let mut rows: Vec<Row> = rows.values().cloned().collect();
            rows.sort_by(|a, b| self.more_suspect(Some(a), Some(b)).then_with(|| a.name.cmp(&b.name)));
            rows
        })
    }

    /// The rows of ends, those that differ first, and then the most frequent.
    pub fn ends(&self) -> Vec<Ends> {
        let ends = self.ends.iter().map(|((simulated, other), &cases)| Ends {
            simulated: simulated.clone(),
            other: other.clone(),
            cases,
        });
        let mut ends: Vec<Ends> = ends.collect();
        ends.sort_by_key(|ends| (ends.simulated == ends.other, std::cmp::Reverse(ends.cases)));
        ends
    }

    /// Sorts kernels, the most suspect first.
    pub fn by_suspicion(&self, kernels: &mut [String]) {
        kernels.sort_by(|a, b| self.more_suspect(self.kernels.get(a), self.kernels.get(b)).then_with(|| a.cmp(b)));
    }

    fn more_suspect(&self, one: Option<&Row>, other: Option<&Row>) -> Ordering {
        let suspicion = |row: Option<&Row>| row.map_or([0.0; 2], |row| row.suspicion(&self.total));
        suspicion(other).partial_cmp(&suspicion(one)).expect("finite numbers")
    }
}
