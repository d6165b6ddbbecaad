//! Reports: for people on the error stream, and for programs as records in the file that `SNUFFER_SIM_REPORTS` names, a JSON
//! object on each line.

use super::host_calls::{self, Frame};
use serde::Serialize;
use simulator::{Fault, Kind};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::OnceLock;

/// What a record means for the program.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// Ends the work that the program asked for.
    Fault,
    /// Is wrong and ends nothing, as on hardware.
    Report,
    /// Is odd and may be meant.
    Fact,
    /// The simulator cannot do it; the program may be right.
    Unsupported,
    /// A call that was asked to fail.
    Injected,
}

/// One line of the file.
#[derive(Debug, Serialize)]
struct Record<'a> {
    severity: Severity,
    kind: &'a str,
    /// The kernel, or the function that the host called.
    kernel: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    message: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host: Vec<Frame>,
}

/// Prints a line. It is one write, so that lines of other threads do not come between; a closed error stream is no failure.
pub fn print(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Writes what a kernel has printed, to the output as on hardware. A closed output is no failure.
pub fn output(printed: &str) {
    if !printed.is_empty() {
        let mut output = io::stdout().lock();
        let _ = output.write_all(printed.as_bytes()).and_then(|()| output.flush());
    }
}

/// Appends a record with one write, so that it is whole even if the process is killed next.
fn record(record: &Record) {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("SNUFFER_SIM_REPORTS")?;
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        opened.map_err(|error| print(&format!("snuffer-sim: cannot write {}: {error}", path.display()))).ok()
    };
    let Some(mut file) = FILE.get_or_init(open).as_ref() else { return };
    let line = serde_json::to_string(record).expect("a record has a form in JSON") + "\n";
    if let Err(error) = file.write_all(line.as_bytes()) {
        print(&format!("snuffer-sim: cannot write a record: {error}"));
    }
}

/// Appends a record that has no place in a kernel.
fn without_place(severity: Severity, kind: &str, function: &str, message: &str) {
    let (file, line, block, thread, address, host) = (None, None, None, None, None, host_calls::frames());
    record(&Record { severity, kind, kernel: function, file, line, block, thread, address, message, host });
}

/// Reports what the simulator cannot do: the limit is the simulator's, not the program's fault.
pub fn unsupported(what: &str) {
    without_place(Severity::Unsupported, Kind::Unsupported.name(), "", what);
    print(&format!("snuffer-sim: unsupported: {what}"));
}

/// Reports a call that was asked to fail and returns the code of this name.
pub fn injected(function: &str, code: &str) {
    let message = format!("{function} returns {code}");
    without_place(Severity::Injected, "injected", function, &message);
    print(&format!("snuffer-sim: asked to fail: {message}"));
}

/// Reports what ends a kernel, or refuses a call of the host.
pub fn fault(fault: &Fault) {
    found(Severity::Fault, fault);
}

/// Reports what a checker found and what ends nothing.
pub fn finding(finding: &Fault) {
    found(Severity::Report, finding);
}

/// Records a fault, and prints it as the driver and `compute-sanitizer` would.
fn found(severity: Severity, fault: &Fault) {
    let severity = match fault.kind {
        Kind::Unsupported => Severity::Unsupported,
        Kind::Arithmetic | Kind::Sampled => Severity::Fact,
        _ => severity,
    };
    let source = fault.source.as_ref();
    // The host's own calls have no threads.
    let of_kernel = fault.ptx > 0;
    record(&Record {
        severity,
        kind: fault.kind.name(),
        kernel: &fault.kernel,
        file: source.map(|(file, _)| file.as_str()),
        line: source.map(|(_, line)| *line),
        block: of_kernel.then_some(fault.block),
        thread: of_kernel.then_some(fault.thread),
        address: fault.address,
        message: &fault.message(),
        host: host_calls::frames(),
    });
    print(&fault.to_string());
}
