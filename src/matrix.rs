//! The measured table op × dtype × device: what candle does with valid calls in each dtype.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::device::Device;
use crate::exec::{Deadline, Executor, WorkerSpec, pool};
use crate::generate::{Mode, drawn, random};
use crate::ops::{Contract, Op};
use crate::oracle::{Evidence, Kind, OracleName, judge_on};
use crate::outcome::{CudaError, Observation, Outcome};
use crate::tensor::DType;

/// How many valid cases of each op and dtype are run.
pub const CASES: u64 = 32;

/// The result of a case, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// The simulated device does not support it.
    Unsupported,
    /// Unspecified, and the process survived.
    Unspecified,
    /// An `Err` that is allowed, or a dtype that candle does not list.
    Refuses,
    /// The promise was kept.
    Works,
    /// An `Err` in a dtype that candle lists, forward or backward.
    RefusesValid,
    /// A wrong value, shape or gradient, or a difference between devices.
    Disagrees,
    /// A panic, an abort, a hang, or out of memory.
    Panics,
    /// A device fault other than an assert.
    Faults,
    /// A device-side assert.
    Asserts,
}

impl Cell {
    /// Every cell, in the order of the legend.
    pub const ALL: [Self; 9] = [
        Self::Works,
        Self::Refuses,
        Self::RefusesValid,
        Self::Disagrees,
        Self::Panics,
        Self::Faults,
        Self::Asserts,
        Self::Unspecified,
        Self::Unsupported,
    ];

    /// One letter for tables.
    pub fn letter(self) -> char {
        match self {
            Self::Works => '+',
            Self::Refuses => '-',
            Self::RefusesValid => 'R',
            Self::Disagrees => 'D',
            Self::Panics => 'P',
            Self::Faults => 'F',
            Self::Asserts => 'A',
            Self::Unspecified => '?',
            Self::Unsupported => 'u',
        }
    }

    /// The meaning of the letter.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Refuses => "rejects, which is allowed",
            Self::RefusesValid => "rejects a call that it should accept",
            Self::Disagrees => "disagrees with the reference, the contiguous baseline or the other device",
            Self::Panics => "panics, hangs or dies",
            Self::Faults => "faults on the device",
            Self::Asserts => "asserts on the device",
            Self::Unspecified => "unspecified",
            Self::Unsupported => "not supported by the simulated device",
        }
    }
}

/// How many cases of one op and dtype ended in each cell.
pub type Counts = BTreeMap<Cell, u64>;

/// One op on one device.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Row {
    /// The op.
    pub op: &'static str,
    /// The device.
    #[schemars(with = "String")]
    pub device: Device,
    /// By dtype: how many cases ended in each cell, such as `works` or `asserts`.
    #[schemars(with = "BTreeMap<String, Counts>")]
    pub cells: BTreeMap<DType, Counts>,
}

impl Row {
    /// The letter of the worst result in `dtype`, in lower case if it covers less than half of the cases that are not
    /// unspecified.
    pub fn letter(&self, dtype: DType) -> char {
        let Some(counts) = self.cells.get(&dtype) else { return ' ' };
        let Some((worst, count)) = counts.last_key_value() else { return ' ' };
        let promised: u64 = counts.iter().filter(|(cell, _)| **cell > Cell::Unspecified).map(|(_, count)| count).sum();
        if 2 * count < promised { worst.letter().to_ascii_lowercase() } else { worst.letter() }
    }
}

/// The table as text: a line per op and device, a column per dtype, and a legend.
pub fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.op.len()).max().unwrap_or(0);
    let names = DType::ALL.map(|dtype| format!("{:>7}", dtype.name())).concat();
    let mut lines = vec![format!("{:width$}  device{names}", "op")];
    let mut last = "";
    for row in rows {
        let letters = DType::ALL.map(|dtype| format!("{:>7}", row.letter(dtype))).concat();
        let op = if row.op == last { "" } else { row.op };
        lines.push(format!("{op:width$}  {:6}{letters}", row.device.to_string()).trim_end().to_string());
        last = row.op;
    }
    lines.push(String::new());
    lines.extend(Cell::ALL.map(|cell| format!("{}  {}", cell.letter(), cell.meaning())));
    lines.push("lower case: fewer than half of the cases".to_string());
    lines.join("\n") + "\n"
}

/// Runs [`CASES`] valid cases of every op and dtype on all `devices`, with two workers each. Calls `on_done` with
/// each finished op.
pub fn measure(
    ops: &[&'static Op],
    devices: &[Device],
    spec: &WorkerSpec,
    on_done: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<Row>> {
    const JOBS: usize = 2;
    let next = AtomicU64::new(0);
    let rows = pool::each(
        JOBS,
        || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < ops.len() as u64),
        || Executor::start(devices, spec),
        |executor, number| {
            let op = ops[number as usize];
            let rows = rows(executor, op, devices)?;
            on_done(op.name);
            Ok(Some(rows))
        },
        |_| Ok(()),
    )?;
    Ok(rows.concat())
}

/// The rows of one op, one per device.
fn rows(executor: &mut Executor, op: &'static Op, devices: &[Device]) -> anyhow::Result<Vec<Row>> {
    let empty = |&device: &Device| Row { op: op.name, device, cells: BTreeMap::new() };
    let mut rows: Vec<Row> = devices.iter().map(empty).collect();
    let few_dtypes = executor.spec().candle.as_ref().is_some_and(|candle| candle.few_dtypes);
    let is_there = |dtype: &DType| !few_dtypes || !DType::RECENT.contains(dtype);
    for dtype in DType::ALL.into_iter().filter(is_there) {
        for index in 0..CASES {
            let case = drawn(op.name, op.generate, Mode::Valid, &random(op.name, 0, index), Some(dtype)).case;
            // A generator that cannot use the dtype draws another one.
            if op.dtype(&case).is_some_and(|drawn| drawn != dtype) {
                continue;
            }
            let observations = executor.observe(&case, Deadline::Full)?;
            let evidence = Evidence::new(op, &case, &observations);
            for (row, seen) in rows.iter_mut().zip(&observations) {
                *row.cells.entry(dtype).or_default().entry(cell(&evidence, seen)).or_default() += 1;
            }
            // The other cases would hang as well, each until its deadline.
            if observations.iter().any(|seen| matches!(seen.outcome, Outcome::TimedOut(_))) {
                break;
            }
        }
    }
    Ok(rows)
}

/// The result of a case on one device.
fn cell(evidence: &Evidence, seen: &Observation) -> Cell {
    match &seen.outcome {
        Outcome::Unsupported(_) => return Cell::Unsupported,
        Outcome::Faulted(fault) if fault.kind == CudaError::Assert => return Cell::Asserts,
        Outcome::Faulted(_) => return Cell::Faults,
        _ => {}
    }
    match (judge_on(evidence, seen).into_iter().next(), &seen.outcome) {
        (Some(violation), Outcome::Returned(_) | Outcome::Rejected(_))
            if matches!(violation.kind, Kind::RefusedValid | Kind::RefusedGradient | Kind::NotSupported) =>
        {
            Cell::RefusesValid
        }
        // The row of the device that accepts it shows the disagreement.
        (Some(violation), Outcome::Rejected(_)) if violation.oracle == OracleName::Agreement => Cell::Refuses,
        (Some(_), Outcome::Returned(_) | Outcome::Rejected(_)) => Cell::Disagrees,
        (Some(_), _) => Cell::Panics,
        (None, _) if matches!(evidence.contract, Contract::Unspecified(_)) => Cell::Unspecified,
        (None, Outcome::Rejected(_)) => Cell::Refuses,
        (None, _) => Cell::Works,
    }
}
