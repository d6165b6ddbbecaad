//! Reports: for people on the error stream, and for programs as records in the file that `SNUFFER_SIM_REPORTS` names, a JSON
//! object on each line.

use crate::objects::reports::host_calls;
use device_record::{Detail, Fault, Kind, Record, Severity};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the driver prints only what a GPU's driver prints: the line of a failed assertion.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// From now on, prints only what a GPU's driver prints.
pub fn be_silent() {
    IS_SILENT.store(true, Ordering::Relaxed);
}

/// Prints a line. It is one write, so that lines of other threads do not come between; a closed error stream is not a failure.
pub fn print(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Writes what a kernel has printed, to the output as on hardware. A closed output is not a failure.
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

/// Reports what the simulator cannot do: the limit is the simulator's, not the program's fault.
pub fn unsupported(what: impl Into<Detail>) {
    say(Severity::Unsupported, Fault::new(Kind::Unsupported, "", what));
}

/// Reports a function that the simulator does not have.
pub fn missing(function: &str) {
    unsupported(Detail::Missing { function: function.to_owned() });
}

/// Reports a call that was asked to fail and returns the code of this name.
pub fn injected(function: &str, code: &str) {
    let detail = Detail::Returns { function: function.to_owned(), code: code.to_owned() };
    say(Severity::Injected, Fault::new(Kind::Injected, function, detail));
}

/// Reports what ends a kernel, or refuses a call of the host.
pub fn fault(fault: &Fault) {
    say(Severity::Fault, fault.clone());
}

/// Reports what a checker found and what ends nothing.
pub fn finding(finding: &Fault) {
    say(Severity::Report, finding.clone());
}

/// Records a fault, and prints it as the driver and `compute-sanitizer` would.
fn say(severity: Severity, fault: Fault) {
    let severity = match fault.kind.severity() {
        Severity::Fault | Severity::Report => severity,
        own => own,
    };
    if IS_SILENT.load(Ordering::Relaxed) && matches!(severity, Severity::Fault | Severity::Report | Severity::Fact) {
        if fault.kind == Kind::Assert {
            print(&fault.title());
        }
        return;
    }
    let text = fault.to_string();
    record(&Record { severity, fault, host: host_calls::frames() });
    print(&text);
}
