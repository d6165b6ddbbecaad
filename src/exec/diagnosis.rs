//! Reads what a device said of a fault: the driver's assertions and `compute-sanitizer`'s reports, which the simulated
//! device prints alike.

use crate::outcome::{Fault, Outcome};
use crate::run::crate_path;

/// The fault with what the device said of it on standard error; `Unsupported` where it is the simulator's fault.
pub fn explain(mut fault: Fault, said: &str) -> Outcome {
    if let Some(what) = said.lines().find_map(|line| line.strip_prefix("snuffer-sim: unsupported: ")) {
        return Outcome::Unsupported(what.to_string());
    }
    if let Some((place, message)) = assertion(said).or_else(|| report(said)) {
        fault.place = place;
        fault.message = message;
    }
    Outcome::Faulted(fault)
}

/// `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `condition` failed.`
fn assertion(said: &str) -> Option<(String, String)> {
    let line = said.lines().find(|line| line.contains(": block: [") && line.ends_with("` failed."))?;
    let (place, _) = line.split_once(": ")?;
    let (file, number) = place.rsplit_once(':')?;
    let path = kernel_path(file);
    Some((format!("{path}:{number}"), line.replacen(file, &path, 1)))
}

/// An assertion names the file as the compiler was given it: candle-kernels compiles in its own folder.
fn kernel_path(file: &str) -> String {
    if file.starts_with("src/") { format!("candle-kernels/{file}") } else { crate_path(file) }
}

/// The first report of a sanitizer: its lines begin with nine equal signs, the first of a report with one blank more.
fn report(said: &str) -> Option<(String, String)> {
    const MARK: &str = "========= ";
    const MORE: &str = "=========     ";
    let mut lines = said.lines().skip_while(|line| {
        // The tool's own banner has no details.
        !line.starts_with(MARK) || line.starts_with(MORE) || line.starts_with("========= COMPUTE")
    });
    let title = lines.next()?.strip_prefix(MARK)?;
    let details: Vec<&str> = lines.map_while(|line| line.strip_prefix(MORE)).map(str::trim).collect();
    let at = details.iter().find_map(|line| line.strip_prefix("at ")).unwrap_or_default();
    let text = std::iter::once(title).chain(details.iter().copied()).collect::<Vec<_>>().join("; ");
    let Some((file, number)) = at.rsplit_once(" in ").and_then(|(_, place)| place.rsplit_once(':')) else {
        return Some((at.split('(').next().unwrap_or(at).to_string(), text));
    };
    let path = crate_path(file);
    Some((format!("{path}:{number}"), text.replacen(file, &path, 1)))
}

#[cfg(test)]
mod tests {
    use super::explain;
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
