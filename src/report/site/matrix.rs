//! The matrix op × dtype × device: each cell is marked with its worst finding.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::entry::{Entry, family};
use super::mark::{Look, Mark};
use super::{Campaign, Contents};
use crate::device::Device;
use crate::ops;
use crate::tensor::DType;

/// The matrix: a row per op, and per device a column for each dtype.
#[derive(Debug, Serialize)]
pub struct Matrix<'a> {
    /// The devices, by name.
    pub devices: Vec<String>,
    /// The dtypes, by name.
    pub dtypes: Vec<&'static str>,
    /// The ops, by the part of their name before the dot.
    pub families: Vec<Family<'a>>,
}

/// The ops of one family.
#[derive(Debug, Serialize)]
pub struct Family<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many findings they have.
    pub findings: usize,
    /// The ops.
    pub rows: Vec<Row<'a>>,
}

/// One op.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// Its name.
    pub op: &'a str,
    /// How many findings it has.
    pub findings: usize,
    /// The cells of the first device by dtype, then those of the next.
    pub cells: Vec<Cell>,
}

/// An op in a dtype on a device.
#[derive(Debug, Serialize)]
pub struct Cell {
    /// Its worst mark.
    pub mark: Look,
    /// How many findings it has.
    pub findings: usize,
    /// The device.
    pub device: String,
    /// The dtype.
    pub dtype: &'static str,
    /// Whether it is in the first column of its device.
    pub edge: bool,
}

/// The matrix of this build's ops, and of ops that only stored findings name.
pub fn matrix<'a>(contents: &Contents, entries: &'a [Entry<'a>]) -> Matrix<'a> {
    let devices = devices(contents, entries);
    let mut dtypes: Vec<&'static str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
    if entries.iter().any(|entry| entry.dtype == "none") {
        dtypes.push("none");
    }
    // The canary belongs to this suite, not to candle.
    let all = ops::all();
    let ops = all.iter().map(|op| op.name).filter(|name| *name != ops::canary::CANARY.name);
    let mut by_op: BTreeMap<&str, Vec<&Entry>> = ops.map(|name| (name, Vec::new())).collect();
    for entry in entries {
        by_op.entry(&entry.finding.signature.op).or_default().push(entry);
    }
    let tried = tried(&contents.campaigns);
    let mut families: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for (op, found) in by_op {
        let place = |&device: &Device| dtypes.iter().map(move |&dtype| (device, dtype));
        let cell = |(device, dtype)| {
            let here = |entry: &&&Entry| entry.dtype == dtype && entry.devices.contains(&device);
            let found: Vec<&&Entry> = found.iter().filter(here).collect();
            let worst = found.iter().map(|entry| entry.rank).min();
            let mark = worst.map_or_else(|| unfound(op, dtype, device, &tried), Mark::Found);
            Cell {
                mark: mark.look(),
                findings: found.len(),
                device: device.to_string(),
                dtype,
                edge: dtype == dtypes[0],
            }
        };
        let cells = devices.iter().flat_map(place).map(cell).collect();
        families.entry(family(op)).or_default().push(Row { op, findings: found.len(), cells });
    }
    let family = |(name, rows): (&'a str, Vec<Row<'a>>)| {
        let findings = rows.iter().map(|row| row.findings).sum();
        Family { name, findings, rows }
    };
    Matrix {
        devices: devices.iter().map(ToString::to_string).collect(),
        families: families.into_iter().map(family).collect(),
        dtypes,
    }
}

/// Every device that a campaign used or a finding was seen on.
fn devices(contents: &Contents, entries: &[Entry]) -> BTreeSet<Device> {
    let used = contents.campaigns.iter().flat_map(|campaign| &campaign.record.devices);
    let seen = entries.iter().flat_map(|entry| &entry.finding.observations).map(|seen| seen.device);
    used.filter_map(|name| name.parse().ok()).chain(seen).collect()
}

/// The op, dtype and device of every call in any campaign, apart from calls that the simulated device does not support.
fn tried(campaigns: &[Campaign]) -> BTreeSet<[String; 3]> {
    let calls = campaigns.iter().flat_map(|campaign| campaign.record.tally.each_call());
    let ran = calls.filter(|([.., outcome], _)| *outcome != "unsupported");
    ran.map(|([op, dtype, device, _], _)| [op, dtype, device].map(ToString::to_string)).collect()
}

/// The mark of a cell without findings.
fn unfound(op: &str, dtype: &str, device: Device, tried: &BTreeSet<[String; 3]>) -> Mark {
    let listed = |op: &ops::Op| op.support.on(device).iter().any(|listed| listed.name() == dtype);
    if dtype != "none" && ops::find(op).is_some_and(|op| !listed(op)) {
        return Mark::Unlisted;
    }
    let place = [op.to_string(), dtype.to_string(), device.to_string()];
    if tried.contains(&place) { Mark::Clean } else { Mark::Untried }
}
