//! The targets of files that somebody else may have made: stores, safetensors, and what a device's tools print. No bytes make a reader
//! panic, nor what follows from what was read.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use snuffer::coverage::Coverage;
use snuffer::exec::diagnosis::Reports;
use snuffer::guard;
use snuffer::ops;
use snuffer::oracle::{Evidence, judge};
use snuffer::outcome::{CudaError, Fault, Phase, Place};
use snuffer::store::{Finding, Log, Record, Store, Tally, read_coverage};

thread_local! {
    /// Where inputs are written: readers take paths.
    static FOLDER: TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// The `store` target: a finding, a record, a list of failures or the coverage of a store.
pub fn store(bytes: &[u8]) {
    FOLDER.with(|folder| {
        let _ = finding(folder.path(), bytes);
        let campaigns = folder.path().join("campaigns");
        let files = ["1-1-1.toml", "1-1-1.coverage", "1-1-1.failures.jsonl"].map(|name| campaigns.join(name));
        fs::create_dir_all(&campaigns).expect("a folder");
        for file in &files {
            fs::write(file, bytes).expect("a file");
        }
        if let Ok(record) = Record::read(&files[0]) {
            Tally::sum([&record, &record]).largest();
        }
        let _ = read_coverage(&files[1], &mut Coverage::default());
        let _ = Log::open(&campaigns, "1-1-1").and_then(|mut log| log.forget_from(7));
    });
}

/// Reads bytes as a finding of a store below `folder`, and judges it again.
fn finding(folder: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let read: Finding = toml::from_str(std::str::from_utf8(bytes)?)?;
    let (store, name) = (Store::open(folder)?, read.signature.slug());
    let kept = folder.join(&name);
    fs::create_dir_all(&kept)?;
    fs::write(kept.join("finding.toml"), bytes)?;
    let loaded = store.get(&name);
    fs::remove_dir_all(kept)?;
    if let Some(Finding { case, observations, .. }) = loaded?
        && let Some(op) = ops::find(&case.op)
    {
        judge(&Evidence::new(op, &case, &observations));
    }
    Ok(())
}

/// The `safetensors` target: a file before the guard.
pub fn safetensors(bytes: &[u8]) {
    FOLDER.with(|folder| {
        let path = folder.path().join("file.safetensors");
        fs::write(&path, bytes).expect("a file");
        let Ok(file) = guard::File::open(&path) else { return };
        for shown in file.list() {
            let name = shown.split(' ').next().unwrap_or_default();
            let Ok(Some(tensor)) = file.tensor(name) else { continue };
            let _ =
                (guard::labels(name, &tensor, 3, Some(2)), guard::ids(name, &tensor, 3), guard::finite(name, &tensor));
            for (op, input) in [("tensor.exp", "x"), ("loss.cross_entropy", "target"), ("layer.embedding", "ids")] {
                let _ = guard::Call::new(op).input(input, &tensor).check();
            }
        }
    });
}

/// The `reports` target: what the driver, `compute-sanitizer` or a simulated device said.
pub fn reports(bytes: &[u8]) {
    let printed = String::from_utf8_lossy(bytes);
    let marked = Reports::from_sanitizer(&printed, "mark_7").0;
    for reports in [Reports::from_text(&printed), Reports::from_records(&printed), marked] {
        let kind = CudaError::from("CUDA_ERROR_ILLEGAL_ADDRESS".to_string());
        let fault = Fault { phase: Phase::Forward, kind, place: Place::Unknown, message: String::new() };
        reports.explain(fault);
        reports.device_reports(false);
        reports.device_reports(true);
        reports.injected().for_each(drop);
    }
}
