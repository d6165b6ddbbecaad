//! The table op × dtype × device: any change in what candle accepts or breaks shows as a difference.

use std::collections::BTreeMap;

use snuffer::device::Device;
use snuffer::exec::WorkerSpec;
use snuffer::matrix::{Cell, Row, measure, text};
use snuffer::ops::{self, Op};
use snuffer::tensor::DType;

use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: the_cpu_matches_the_dtype_tables_and_the_snapshot;
    Cuda: a_cuda_device_matches_the_dtype_tables_and_the_snapshot
];

fn table(devices: &[Device]) -> Vec<Row> {
    measure(ops::ALL, devices, &WorkerSpec::default(), &|_| ()).expect("the harness survives")
}

/// Differences between the dtypes that candle accepts and the op's table of dtypes.
fn contradictions(op: &Op, row: &Row) -> Vec<String> {
    let contradiction = |(&dtype, counts): (&DType, &BTreeMap<Cell, u64>)| {
        let listed = op.support.on(row.device).contains(&dtype);
        let only = |cell| counts.keys().all(|seen| *seen == cell);
        let cell = format!("{} {dtype} on {}", op.name, row.device);
        match listed {
            true if only(Cell::Refuses) => Some(format!("{cell}: listed, and always refused")),
            false if only(Cell::Works) => Some(format!("{cell}: not listed, and always right")),
            _ => None,
        }
    };
    row.cells.iter().filter_map(contradiction).collect()
}

/// Checks the tables of dtypes.
fn check(rows: &[Row]) {
    let wrong: Vec<String> =
        rows.iter().flat_map(|row| contradictions(ops::find(row.op).expect("registered"), row)).collect();
    assert!(wrong.is_empty(), "wrong tables of dtypes: {wrong:#?}");
}

fn snapshot(name: &str, rows: &[Row]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text(rows)));
}

fn the_cpu_matches_the_dtype_tables_and_the_snapshot() {
    let rows = table(&[Device::Cpu]);
    check(&rows);
    snapshot("matrix", &rows);
}

fn a_cuda_device_matches_the_dtype_tables_and_the_snapshot(device: Device) {
    let rows: Vec<Row> = table(&[Device::Cpu, device]).into_iter().filter(|row| row.device == device).collect();
    check(&rows);
    // What a GPU does in detail is its own; the tables hold on each.
    if matches!(device, Device::Sim(_)) {
        snapshot("matrix@sim", &rows);
    }
}
