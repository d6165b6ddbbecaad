//! Faults and reports: the kernels of `tests/fail/`. Each file says what it shows, and has the exact diagnosis after `//|`
//! at its end; its kernel `twin` does the same without the mistake. `UPDATE_GOLDEN=1` writes the current diagnosis.

use simulator::{Config, Device, Fault, Kind};

use crate::machine::{Shape, device, launch, upload};
use crate::passes::{files, folder};

/// The texts of all kernels that fail.
pub fn texts() -> impl Iterator<Item = String> {
    files("fail").into_iter().map(|(_, text)| text)
}

/// What is printed about a kernel of two blocks of 64 threads and 128 bytes of dynamic shared memory, with three pointers:
/// to 256 bytes, to 64 freed bytes, and to 64 bytes that were never written.
fn said(text: &str, kernel: &str) -> Vec<Fault> {
    let mut device = device();
    let live = upload(&mut device, &[1; 256]);
    let freed = upload(&mut device, &[1; 64]);
    device.free(freed).expect("allocated");
    let fresh = device.allocate(64).expect("memory");
    let declared = text.split(&format!(".entry {kernel}(")).nth(1).and_then(|rest| rest.split(')').next());
    let pointers = declared.expect("a kernel of this name").matches(".param").count();
    let params = [live, freed, fresh][..pointers].iter().flat_map(|address| address.to_le_bytes()).collect();
    let shape = Shape { shared: 128, ..Shape::line(2, 64) };
    let ended = launch(&mut device, text, kernel, shape, params);
    device.reports().into_iter().chain(ended.err()).collect()
}

#[test]
fn every_fault_is_diagnosed_to_the_letter() {
    let files = files("fail");
    for (file, text) in &files {
        let said = said(text, "k");
        assert!(!said.is_empty(), "{file}: nothing is said");
        let said: Vec<String> =
            said.iter().flat_map(|fault| fault.to_string().lines().map(str::to_string).collect::<Vec<_>>()).collect();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let code: Vec<&str> = text.lines().filter(|line| !line.starts_with("//|")).collect();
            let golden: Vec<String> = said.iter().map(|line| format!("//| {line}")).collect();
            let whole = format!("{}\n\n{}\n", code.join("\n").trim_end(), golden.join("\n"));
            // Another test may be reading the file.
            if whole != *text {
                std::fs::write(folder("fail").join(file), whole).expect("written");
            }
            continue;
        }
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//| ")).collect();
        assert_eq!(said, expected, "{file}");
    }
    assert!(files.len() >= 50, "only {} faults", files.len());
}

#[test]
fn the_twin_of_every_fault_reports_nothing() {
    let twins = files("fail").into_iter().map(|(file, text)| (file, said(&text, "twin")));
    let wrong: Vec<(String, Vec<Fault>)> = twins.filter(|(_, said)| !said.is_empty()).collect();
    assert_eq!(wrong, Vec::new());
}

#[test]
fn an_aligned_instruction_in_a_warp_that_was_never_full_is_not_blamed_on_the_kernel() {
    let text = texts().find(|text| text.contains("mma.sync.aligned")).expect("a kernel that multiplies matrices");
    let mut device = device();
    let fault = launch(&mut device, &text, "twin", Shape::line(1, 16), vec![0; 16]).expect_err("half a warp");
    assert_eq!(
        (fault.kind, fault.title().as_str()),
        (Kind::Unsupported, "an aligned instruction in a warp that is not full")
    );
}

#[test]
fn a_launch_of_many_warps_may_execute_more() {
    let text = texts().find(|text| text.contains("budget of instructions")).expect("a kernel that loops");
    // The twin executes some 300 instructions in each of 10 warps.
    for (kernel, ends) in [("twin", true), ("k", false)] {
        let mut device = Device::new(0, &Config { budget: 1000, ..Config::default() });
        let ended = launch(&mut device, &text, kernel, Shape::line(10, 32), vec![0; 16]);
        assert_eq!(ended.is_ok(), ends, "{kernel}: {ended:?}");
    }
}

/// What no kernel of its own can do, or only one with other inputs than these.
const NOT_SHOWN: [Kind; 7] = [
    Kind::UseBeforeAllocation,
    Kind::InvalidFree,
    Kind::OutOfView,
    Kind::StreamRace,
    Kind::Leak,
    Kind::Sampled,
    Kind::Injected,
];

#[test]
fn every_kind_of_fault_has_a_kernel() {
    let kinds: Vec<Kind> = files("fail").iter().flat_map(|(_, text)| said(text, "k")).map(|fault| fault.kind).collect();
    for kind in Kind::ALL {
        assert_ne!(kinds.contains(kind), NOT_SHOWN.contains(kind), "{kind}");
    }
}
