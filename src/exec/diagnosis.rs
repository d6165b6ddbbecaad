//! What a device said about a case. A simulated device leaves records; the driver and `compute-sanitizer` print text. Both become
//! the same reports.

mod printed;

use serde::Deserialize;

use crate::outcome::{DeviceReport, DeviceReports, Fault, Outcome};
use crate::run::crate_path;

/// The fault with what the device printed about it; `Unsupported` if the simulator cannot run the case.
pub fn explain(fault: Fault, printed: &str) -> Outcome {
    Reports::from_text(printed).explain(fault)
}

/// What the device printed that ended nothing. `faulted`: the case ended by a fault.
pub fn device_reports(printed: &str, faulted: bool) -> DeviceReports {
    Reports::from_text(printed).device_reports(faulted)
}

/// The reports of a device, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reports(Vec<Report>);

/// One report. The simulated driver writes these fields, and more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Report {
    severity: Severity,
    /// `assert`, `race`, `out of bounds` …
    kind: String,
    kernel: String,
    file: Option<String>,
    line: Option<u32>,
    /// All lines, joined by `; `.
    message: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    #[default]
    Fault,
    Report,
    Fact,
    Unsupported,
    Injected,
}

/// The kind of a failed assertion.
const ASSERT: &str = "assert";

/// What an assertion's own line ends with.
const FAILED: &str = "` failed.";

impl Reports {
    /// Reads a simulated device's records, one on each line. A line that is cut is left out.
    pub fn from_records(records: &str) -> Self {
        Self(records.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Reads what the driver, `compute-sanitizer` or a simulated device printed.
    pub fn from_text(printed: &str) -> Self {
        Self(printed::reports(printed))
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fault with what the device reported about it; `Unsupported` if the simulator cannot run the case.
    pub fn explain(&self, mut fault: Fault) -> Outcome {
        if let Some(report) = self.of(Severity::Unsupported).next() {
            return Outcome::Unsupported(report.message.clone());
        }
        let ending = || self.without_assertions().into_iter().nth(self.ending()?).map(|it| (it.place(), it.text()));
        if let Some((place, message)) = self.assertion().or_else(ending) {
            fault.place = place;
            fault.message = message;
        }
        Outcome::Faulted(fault)
    }

    /// What ended nothing. `faulted`: the case ended by a fault.
    pub fn device_reports(&self, faulted: bool) -> DeviceReports {
        let mut device_reports = DeviceReports::default();
        let mut reports = self.without_assertions();
        if let Some(ending) = self.ending().filter(|_| faulted && self.assertion().is_none()) {
            reports.remove(ending);
        }
        for report in reports {
            let Some(kind) = report.checker().map(str::to_string) else { continue };
            let device_report = DeviceReport { kind, place: report.place(), message: report.text() };
            let same =
                |known: &DeviceReport| (&known.kind, &known.place) == (&device_report.kind, &device_report.place);
            if !device_reports.reports.iter().any(same) {
                device_reports.reports.push(device_report);
            }
        }
        for report in self.of(Severity::Fact) {
            let fact = report.text();
            if !device_reports.facts.contains(&fact) {
                device_reports.facts.push(fact);
            }
        }
        device_reports
    }

    /// The calls that were asked to fail: `cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn injected(&self) -> impl Iterator<Item = &str> {
        self.of(Severity::Injected).map(|report| report.message.as_str())
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Report> {
        self.0.iter().filter(move |report| report.severity == severity)
    }

    fn without_assertions(&self) -> Vec<&Report> {
        let wrong = |report: &&Report| matches!(report.severity, Severity::Fault | Severity::Report);
        self.0.iter().filter(wrong).filter(|report| report.kind != ASSERT).collect()
    }

    /// Which of the reports without assertions ended the case: one after which no program goes on, or else the last one.
    fn ending(&self) -> Option<usize> {
        let reports = self.without_assertions();
        reports.iter().position(|report| report.checker().is_none()).or(reports.len().checked_sub(1))
    }

    /// Place and message of the first failed assertion.
    fn assertion(&self) -> Option<(String, String)> {
        self.0.iter().find(|report| report.kind == ASSERT).and_then(Report::assertion)
    }
}

impl Report {
    /// The checker that found it, by the name that a device_report has for it.
    fn checker(&self) -> Option<&str> {
        match self.kind.as_str() {
            kind @ ("uninitialized read" | "race" | "barrier" | "stream race" | "out of view") => Some(kind),
            // Its title is that of a barrier error.
            "deadlock" => Some("barrier"),
            _ => None,
        }
    }

    /// The source line, or else the kernel.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", crate_path(file)),
            _ => self.kernel.clone(),
        }
    }

    fn text(&self) -> String {
        shortened(&self.message)
    }

    /// `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `condition` failed.`, and what else is known.
    fn assertion(&self) -> Option<(String, String)> {
        let (line, details) = self.message.split_at(self.message.rfind(FAILED)? + FAILED.len());
        let (place, _) = line.split_once(": ")?;
        let (file, number) = place.rsplit_once(':')?;
        let path = kernel_path(file);
        Some((format!("{path}:{number}"), line.replacen(file, &path, 1) + &shortened(details)))
    }
}

/// An assertion names the file as the compiler was given it: candle-kernels compiles in its own folder.
fn kernel_path(file: &str) -> String {
    if file.starts_with("src/") { format!("candle-kernels/{file}") } else { crate_path(file) }
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
    use super::{Reports, device_reports, explain};
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

    /// What the simulated driver prints and records of one case: a race, a fact and a read out of bounds.
    const PRINTED: &str = "\
snuffer-sim: fact: division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7
========= Race reported between write access and read access to __shared__ memory
=========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:12
=========     by thread (1,0,0) in block (0,0,0)
=========     and read access at /x/candle-kernels-0.11.1/src/sort.cu:11 by thread (0,0,0) in block (0,0,0)
========= Invalid __global__ read of size 4 bytes
=========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:20
=========     by thread (2,0,0) in block (0,0,0)
";
    const RECORDED: &str = r#"
{"severity":"fact","kind":"arithmetic","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":7,"message":"division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7"}
{"severity":"report","kind":"race","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":12,"thread":[1,0,0],"message":"Race reported between write access and read access to __shared__ memory; at k() in /x/candle-kernels-0.11.1/src/sort.cu:12; by thread (1,0,0) in block (0,0,0); and read access at /x/candle-kernels-0.11.1/src/sort.cu:11 by thread (0,0,0) in block (0,0,0)"}
{"severity":"fault","kind":"out of bounds","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":20,"message":"Invalid __global__ read of size 4 bytes; at k() in /x/candle-kernels-0.11.1/src/sort.cu:20; by thread (2,0,0) in block (0,0,0)"}
{"severity":"fault","kind":"trap","ker"#;

    /// A failed assertion and a deadlock, each in both forms.
    const ASSERTED: [&str; 2] = [
        "src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] Assertion `id < n` failed.\n\
         =========     at is_i64_f32() in /x/candle-kernels-0.11.1/src/indexing.cu:63\n\
         =========     70 < 4 is false (u64)\n",
        r#"{"severity":"fault","kind":"assert","kernel":"is_i64_f32","file":"/x/candle-kernels-0.11.1/src/indexing.cu","line":63,"message":"src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] Assertion `id < n` failed.; at is_i64_f32() in /x/candle-kernels-0.11.1/src/indexing.cu:63; 70 < 4 is false (u64)"}"#,
    ];
    const DEADLOCKED: [&str; 2] = [
        "========= Barrier error detected. Divergent thread(s) in warp\n\
         =========     at canary_hang()\n\
         ========= Barrier error detected. No thread of the block can go on\n\
         =========     at canary_hang()\n\
         =========     by thread (0,0,0) in block (0,0,0)\n",
        "{\"severity\":\"report\",\"kind\":\"barrier\",\"kernel\":\"canary_hang\",\
         \"message\":\"Barrier error detected. Divergent thread(s) in warp; at canary_hang()\"}\n\
         {\"severity\":\"fault\",\"kind\":\"deadlock\",\"kernel\":\"canary_hang\",\
         \"message\":\"Barrier error detected. No thread of the block can go on; at canary_hang(); \
         by thread (0,0,0) in block (0,0,0)\"}\n",
    ];
    const UNSUPPORTED: [&str; 2] = [
        "snuffer-sim: unsupported: kernel: wgmma.mma_async\n",
        r#"{"severity":"unsupported","kind":"unsupported","kernel":"kernel","message":"kernel: wgmma.mma_async"}"#,
    ];
    const INJECTED: [&str; 2] = [
        "snuffer-sim: asked to fail: cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY\n",
        r#"{"severity":"injected","kind":"injected","kernel":"cuMemAllocAsync","message":"cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY"}"#,
    ];

    #[test]
    fn records_and_text_say_the_same() {
        let fault = Fault { phase: Phase::Forward, kind: String::new(), place: String::new(), message: String::new() };
        for [printed, recorded] in [[PRINTED, RECORDED], ASSERTED, DEADLOCKED, UNSUPPORTED, INJECTED] {
            let (text, records) = (Reports::from_text(printed), Reports::from_records(recorded));
            assert!(!text.is_empty());
            assert_eq!(text.explain(fault.clone()), records.explain(fault.clone()));
            for faulted in [false, true] {
                assert_eq!(text.device_reports(faulted), records.device_reports(faulted));
            }
            assert!(text.injected().eq(records.injected()));
        }
        let said = Reports::from_records(RECORDED).device_reports(true);
        assert_eq!((said.reports.len(), said.facts.len()), (1, 1));
        assert_eq!(Reports::from_records(INJECTED[1]).injected().count(), 1);
    }
}
