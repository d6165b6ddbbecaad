//! Appends what was executed of each kernel to the file that `SNUFFER_SIM_COVERAGE` names, when a context or the process
//! ends: lines of `loaded file names` and `kernel file name launches blocks branches`, separated by tabs.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

use simulator::Device;

use crate::objects::reports::report;

/// Appends what was executed on `device`.
pub fn record(device: &Device) {
    let Some(path) = std::env::var_os("SNUFFER_SIM_COVERAGE") else { return };
    let mut text = String::new();
    let all = device.coverage();
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let (own, others) = rest.split_at(rest.iter().take_while(|kernel| kernel.file == first.file).count());
        rest = others;
        let names: Vec<&str> = own.iter().map(|kernel| kernel.kernel.as_str()).collect();
        let _ = writeln!(text, "loaded\t{}\t{}", first.file, names.join(","));
        for kernel in own.iter().filter(|kernel| kernel.launches > 0) {
            let blocks: Vec<String> = kernel.blocks.iter().map(u64::to_string).collect();
            let branches = kernel.branches.iter();
            let branches = branches.map(|branch| format!("{}:{}:{}", branch.line, branch.counts[0], branch.counts[1]));
            let (blocks, branches) = (blocks.join(","), branches.collect::<Vec<_>>().join(","));
            let _ =
                writeln!(text, "kernel\t{}\t{}\t{}\t{blocks}\t{branches}", kernel.file, kernel.kernel, kernel.launches);
        }
    }
    let file = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
        report::print(&format!("snuffer-sim: cannot write {}: {error}", path.display()));
    }
}
