//! What a worker and its device print: files that outlive the worker.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use anyhow::Context;

use super::diagnosis::Reports;
use super::folder::Folder;
use super::start::REPORTS;
use crate::device::Device;

/// The output of one worker after the other, in the worker's folder.
#[derive(Debug)]
pub struct Captured {
    output: File,
    /// The reports of a simulated device, or of the fence on the CPU, as records.
    records: File,
    has_records: bool,
}

impl Captured {
    /// New files in `folder`.
    pub fn new(folder: &Folder, device: Device) -> anyhow::Result<Self> {
        let file = |name: &str| {
            let path = folder.path().join(name);
            OpenOptions::new().create(true).append(true).read(true).open(path).context("cannot make a file")
        };
        Ok(Self { output: file("output")?, records: file(REPORTS)?, has_records: !device.is_gpu() })
    }

    /// The file for standard output and standard error.
    pub fn output(&self) -> &File {
        &self.output
    }

    /// Forgets what was printed so far.
    pub fn discard(&self) -> anyhow::Result<()> {
        for file in [&self.output, &self.records] {
            if file.metadata()?.len() > 0 {
                file.set_len(0).context("cannot empty the worker's output")?;
            }
        }
        Ok(())
    }

    /// What the device reported since the case began: a GPU in text, the others in records.
    pub fn reports(&self) -> anyhow::Result<Reports> {
        const MOST: u64 = 4 << 20;
        if self.has_records {
            let reports = Reports::from_records(&read(&self.records, 0, MOST)?);
            if !reports.is_empty() {
                return Ok(reports);
            }
        }
        Ok(Reports::from_text(&self.both_ends(END, END)?))
    }

    /// What was printed since the case began, or its first `first` and last `last` bytes: the first report is at the beginning, and
    /// the fault may be at the end. Lines that are cut belong to no report.
    pub fn both_ends(&self, first: u64, last: u64) -> anyhow::Result<String> {
        let length = self.output.metadata()?.len();
        if length <= first + last {
            return read(&self.output, 0, length);
        }
        let (first, last) = (read(&self.output, 0, first)?, self.last(last)?);
        let first = first.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let last = last.split_once('\n').map_or("", |(_, whole)| whole);
        Ok(format!("{first}\n[…]\n{last}"))
    }

    /// The last of what the worker printed since the case began.
    pub fn end(&self) -> anyhow::Result<String> {
        self.last(END)
    }

    /// At most `most` of the last bytes that were printed since the case began.
    pub fn last(&self, most: u64) -> anyhow::Result<String> {
        let start = self.output.metadata()?.len().saturating_sub(most);
        read(&self.output, start, most)
    }
}

/// How much is read of either end of what a worker printed.
const END: u64 = 16_384;

/// At most `most` bytes of a file. They are read at their place: the worker writes through the same open file, so that a read
/// from the file's own position goes on wherever the worker's last write ended.
fn read(file: &File, start: u64, most: u64) -> anyhow::Result<String> {
    let length = file.metadata()?.len().saturating_sub(start).min(most);
    let mut bytes = vec![0; usize::try_from(length)?];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], start + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    bytes.truncate(read);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
