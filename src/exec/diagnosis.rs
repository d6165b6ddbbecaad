//! Reads what a device said of a fault: the driver's assertions and `compute-sanitizer`'s reports, which the simulated
//! device prints alike.

use crate::outcome::{DeviceReport, DeviceReports, Fault, Outcome};
use crate::run::crate_path;

/// The fault with what the device said of it on standard error; `Unsupported` where it is the simulator's fault.
pub fn explain(mut fault: Fault, said: &str) -> Outcome {
    if let Some(what) = said.lines().find_map(|line| line.strip_prefix("snuffer-sim: unsupported: ")) {
        return Outcome::Unsupported(what.to_string());
    }
    let report = || ending(&mut reports(said)).map(|report| (report.place, report.message));
    if let Some((place, message)) = assertion(said).or_else(report) {
        fault.place = place;
        fault.message = message;
    }
    Outcome::Faulted(fault)
}

/// The reports and facts in the captured stderr that did not end the case; `faulted` says whether a fault ended it.
pub fn device_reports(said: &str, faulted: bool) -> DeviceReports {
    let mut device_reports = DeviceReports::default();
    let mut reports = reports(said);
    if faulted && assertion(said).is_none() {
        ending(&mut reports);
    }
    for report in reports.into_iter().filter(|report| report.kind != FAULT) {
        let same = |known: &DeviceReport| (&known.kind, &known.place) == (&report.kind, &report.place);
        if !device_reports.reports.iter().any(same) {
            device_reports.reports.push(report);
        }
    }
    for line in said.lines().filter_map(|line| line.strip_prefix("snuffer-sim: fact: ")) {
        let fact = shortened(line);
        if !device_reports.facts.contains(&fact) {
            device_reports.facts.push(fact);
        }
    }
    device_reports
}

/// The checker that a report of this title comes from. The words are those of `compute-sanitizer`'s tools, where it has
/// the check.
fn kind(title: &str) -> &'static str {
    const TITLES: [(&str, &str); 6] = [
        ("Uninitialized", "uninitialized read"),
        ("Race reported", "race"),
        ("Error: Race reported", "race"),
        ("Barrier error", "barrier"),
        ("Stream order", "stream race"),
        ("Outside the view", "out of view"),
    ];
    TITLES.iter().find(|(start, _)| title.starts_with(start)).map_or(FAULT, |(_, kind)| kind)
}

/// The kind of a report that is of no checker.
const FAULT: &str = "fault";

/// Takes the report of the fault that ended a case: one that no program goes on after, or else the last one.
fn ending(reports: &mut Vec<DeviceReport>) -> Option<DeviceReport> {
    let place = reports.iter().position(|report| report.kind == FAULT).or(reports.len().checked_sub(1))?;
    Some(reports.remove(place))
}

/// `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `condition` failed.`
fn assertion(said: &str) -> Option<(String, String)> {
    let mut lines = said.lines().skip_while(|line| !(line.contains(": block: [") && line.ends_with("` failed.")));
    let line = lines.next()?;
    let (place, _) = line.split_once(": ")?;
    let (file, number) = place.rsplit_once(':')?;
    let path = kernel_path(file);
    // The simulated device also tells the values that were compared.
    let details = lines.map_while(|line| line.strip_prefix(MORE)).map(|detail| format!("; {}", shortened(detail)));
    let message = line.replacen(file, &path, 1) + &details.collect::<String>();
    Some((format!("{path}:{number}"), message))
}

/// An assertion names the file as the compiler was given it: candle-kernels compiles in its own folder.
fn kernel_path(file: &str) -> String {
    if file.starts_with("src/") { format!("candle-kernels/{file}") } else { crate_path(file) }
}

/// What the second and further lines of a report begin with.
const MORE: &str = "=========     ";

/// The reports of a sanitizer: their lines begin with nine equal signs, those after a report's first with more blanks.
fn reports(said: &str) -> Vec<DeviceReport> {
    const MARK: &str = "========= ";
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut open = false;
    for line in said.lines() {
        if let Some(detail) = line.strip_prefix(MORE) {
            if let Some(report) = found.last_mut().filter(|_| open) {
                report.push(detail.trim());
            }
        } else {
            // The tool's own banner, summary and empty lines have no details.
            let title =
                line.strip_prefix(MARK).filter(|title| !title.starts_with("COMPUTE") && !title.trim().is_empty());
            open = title.is_some();
            found.extend(title.map(|title| vec![title]));
        }
    }
    found.iter().filter(|lines| lines.len() > 1).map(|lines| report(lines)).collect()
}

fn report(lines: &[&str]) -> DeviceReport {
    let at = lines[1..].iter().find_map(|line| line.strip_prefix("at ")).unwrap_or_default();
    let text = shortened(&lines.join("; "));
    let kind = kind(lines[0]).to_string();
    let Some((file, number)) = at.rsplit_once(" in ").and_then(|(_, place)| place.rsplit_once(':')) else {
        let place = at.split('(').next().unwrap_or(at).to_string();
        return DeviceReport { kind, place, message: text };
    };
    DeviceReport { kind, place: format!("{}:{number}", crate_path(file)), message: text }
}

/// A text with the paths in it as crates, without the machine they were compiled on.
fn shortened(text: &str) -> String {
    let short = |word: &str| match word.rsplit_once(':') {
        Some((file, number)) if file.starts_with('/') => format!("{}:{number}", crate_path(file)),
        _ => word.to_string(),
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{device_reports, explain};
    use crate::outcome::{Fault, Outcome, Phase};

    fn explained(said: &str) -> Fault {
        let fault = Fault { phase: Phase::Forward, kind: String::new(), place: String::new(), message: String::new() };
        match explain(fault, said) {
            Outcome::Faulted(fault) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_assertion_tells_its_place() {
        let fault = explained(
            "/x/candle-kernels-0.11.1/src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] \
             Assertion `id < n` failed.\n",
        );
        assert_eq!(fault.place, "candle-kernels/src/indexing.cu:63");
        assert!(fault.message.starts_with("candle-kernels/src/indexing.cu:63: void is<long, float>()"));
    }

    #[test]
    fn a_report_of_compute_sanitizer_tells_its_place() {
        let fault = explained(
            "========= COMPUTE-SANITIZER\n\
             ========= Invalid __global__ write of size 4 bytes\n\
             =========     at out_of_bounds_kernel()+0x70 in /y/memcheck-1.2/src/demo.cu:39\n\
             =========     by thread (0,0,0) in block (0,0,0)\n\
             =========     Address 0x87654320 is out of bounds\n\
             ========= \n",
        );
        assert_eq!(fault.place, "memcheck/src/demo.cu:39");
        assert!(fault.message.starts_with("Invalid __global__ write of size 4 bytes; at out_of_bounds_kernel()"));
        assert!(fault.message.ends_with("Address 0x87654320 is out of bounds"));
    }

    #[test]
    fn what_ends_nothing_is_a_remark() {
        let said = "========= Uninitialized value decides a branch\n\
             =========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:12\n\
             ========= Invalid __global__ write of size 4 bytes\n\
             =========     at j() in /x/candle-kernels-0.11.1/src/sort.cu:20\n\
             snuffer-sim: fact: division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7\n";
        let device_reports = device_reports(said, true);
        let [report] = &device_reports.reports[..] else { panic!("{device_reports:?}") };
        assert_eq!(report.kind, "uninitialized read");
        assert_eq!(report.place, "candle-kernels/src/sort.cu:12");
        assert_eq!(device_reports.facts, ["division of an integer by zero at k() in candle-kernels/src/sort.cu:7"]);
        assert_eq!(explained(said).place, "candle-kernels/src/sort.cu:20");
    }

    #[test]
    fn without_a_source_line_the_kernel_is_the_place() {
        let fault = explained("========= Kernel executed `trap`\n=========     at canary_trap()\n");
        assert_eq!(fault.place, "canary_trap");
    }

    #[test]
    fn what_the_simulator_cannot_do_is_no_fault() {
        let said = "snuffer-sim: unsupported: kernel: wgmma.mma_async\n";
        let fault = Fault { phase: Phase::Forward, kind: String::new(), place: String::new(), message: String::new() };
        assert_eq!(explain(fault, said), Outcome::Unsupported("kernel: wgmma.mma_async".to_string()));
    }
}
