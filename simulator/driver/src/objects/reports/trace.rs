//! Writes launches, as they happen, to the file that `SNUFFER_SIM_TRACE` names: lines of `launch kernel`, and of `library
//! function` for work of cuBLAS and cuRAND. Before a kernel's first launch there are a line `forms kernel form…` and, for each
//! change that `_MUTATE` can make to it, `change kernel number block effect equivalent further_round file line what`. After one of its
//! first launches there are lines `call kernel file function` for the calls of the program that led to it, each once, if
//! `SNUFFER_SIM_BACKTRACE` is `1`. Fields are separated by tabs.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::{Mutex, OnceLock, PoisonError};

use device_record::Frame;
use simulator::{Device, FunctionId};

use crate::objects::reports::{host_calls, report};

/// The calls of this many launches of a kernel are written: naming them takes longer than a small launch.
const LOOKED_AT: usize = 4;

/// The file, the kernels whose changes are written, and how many launches of each had their calls written, with these calls.
struct Trace {
    file: File,
    known: HashSet<String>,
    looked_at: HashMap<String, usize>,
    calls: HashSet<String>,
}

static TRACE: OnceLock<Option<Mutex<Trace>>> = OnceLock::new();

/// The trace, if the environment names a file.
fn open() -> Option<Mutex<Trace>> {
    let path = std::env::var_os("SNUFFER_SIM_TRACE")?;
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    // A killed process may have left a partial line.
    match opened.and_then(|mut file| file.write_all(b"\n").map(|()| file)) {
        Ok(file) => {
            Some(Mutex::new(Trace { file, known: HashSet::new(), looked_at: HashMap::new(), calls: HashSet::new() }))
        }
        Err(error) => {
            report::print(&format!("snuffer-sim: cannot write {}: {error}", path.display()));
            None
        }
    }
}

/// Writes that `function` is launched.
pub fn record_launch(device: &mut Device, function: FunctionId) {
    let Some(trace) = TRACE.get_or_init(open) else { return };
    let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
    let kernel = device.entry(function).name.clone();
    let mut text = String::new();
    if trace.known.insert(kernel.clone()) {
        let _ = writeln!(text, "forms\t{kernel}\t{}", device.forms(function).join("\t"));
        for (number, change) in device.changes(function).iter().enumerate() {
            let simulator::Change { what, file, line, block, effect, equivalent, further_round } = change;
            let effect = effect.map_or_else(String::new, |effect| {
                let simulator::Effect { branch, jump, own } = effect;
                format!("{branch}:{jump}:{own}")
            });
            let marks = format!("{block}\t{effect}\t{equivalent}\t{further_round}");
            let _ = writeln!(text, "change\t{kernel}\t{number}\t{marks}\t{file}\t{line}\t{what}");
        }
    }
    let _ = writeln!(text, "launch\t{kernel}");
    text += &trace.calls(&kernel);
    trace.write(&text);
}

/// Writes that `function` of a library works on the device.
pub fn record_library(function: &str) {
    let Some(trace) = TRACE.get_or_init(open) else { return };
    trace.lock().unwrap_or_else(PoisonError::into_inner).write(&format!("library\t{function}\n"));
}

impl Trace {
    /// The lines of the calls that led to this launch of `kernel`, if it is one of the first.
    fn calls(&mut self, kernel: &str) -> String {
        let looked_at = self.looked_at.entry(kernel.to_string()).or_default();
        *looked_at += 1;
        if *looked_at > LOOKED_AT {
            return String::new();
        }
        let line = |frame: Frame| Some(format!("call\t{kernel}\t{}\t{}\n", frame.file?, frame.function));
        let lines = host_calls::frames().into_iter().filter_map(line);
        lines.filter(|line| self.calls.insert(line.clone())).collect()
    }

    fn write(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            report::print(&format!("snuffer-sim: cannot write the trace: {error}"));
        }
    }
}
