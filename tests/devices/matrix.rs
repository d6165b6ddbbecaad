//! The table op × dtype × device: any change in what candle accepts or breaks shows as a difference.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Limits, WorkerSpec};
use snuffer::matrix::{Cell, Row, measure, text};
use snuffer::ops::{self, Op};
use snuffer::tensor::DType;

use crate::machine::{Machine, Role};
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Each: a_device_matches_the_dtype_tables_and_the_snapshot];

/// The rows of the CPU and of the simulated device, which are judged by each other; only those of the CPU where the run does not need the
/// simulated device.
static ON_EVERY_MACHINE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let sim = Device::Sim(0);
    let machine = Machine::here().expect("the run began with it");
    let sim_is_needed = machine.devices().any(|of| of == (sim, Role::Needed));
    let devices: &[Device] = if sim_is_needed { &[Device::Cpu, sim] } else { &[Device::Cpu] };
    // Calls that hang here never end, and the others take milliseconds of host time.
    let limits = Limits { deadline: Duration::from_secs(1), ..Limits::default() };
    table(devices, &limits.into())
});

fn table(devices: &[Device], spec: &WorkerSpec) -> Vec<Row> {
    measure(ops::ALL, devices, spec, &|_| ()).expect("the harness survives")
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

fn a_device_matches_the_dtype_tables_and_the_snapshot(device: Device) {
    let on_device = |rows: &[Row]| rows.iter().filter(|row| row.device == device).cloned().collect::<Vec<_>>();
    let rows = match device {
        Device::Cuda(_) => on_device(&table(&[Device::Cpu, device], &WorkerSpec::default())),
        _ => on_device(&ON_EVERY_MACHINE),
    };
    assert!(!rows.is_empty(), "{device} was not measured");
    check(&rows);
    match device {
        Device::Cpu => snapshot("matrix", &rows),
        Device::Sim(_) => snapshot("matrix@sim", &rows),
        // GPUs differ in detail, but the tables hold on all of them.
        Device::Cuda(_) => {}
    }
}
