//! Faults and reports: the kernels of `tests/fail/`. Each file says what it shows, and has the exact diagnosis after `//|`
//! at its end; its kernel `twin` does the same without the mistake. `UPDATE_GOLDEN=1` writes the current diagnosis.

use simulator::{Config, Device, Fault, Kind};

use crate::machine::{HEADER, Shape, device, launch, upload, words};
use crate::passes::{files, folder};

/// The texts of all kernels that fail.
pub fn texts() -> impl Iterator<Item = String> {
    files("fail").into_iter().map(|(_, text)| text)
}

/// What is printed about a kernel of two blocks of 64 threads and 128 bytes of dynamic shared memory, with three pointers:
/// to 256 bytes, to 64 freed bytes, and to 64 bytes that were never written.
fn said(text: &str, kernel: &str) -> Vec<Fault> {
    said_by(device(), text, kernel)
}

/// The same on this device.
fn said_by(mut device: Device, text: &str, kernel: &str) -> Vec<Fault> {
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

/// A device that goes on after an access that fails.
fn going_on() -> Device {
    Device::new(0, &Config { budget: 1_000_000, goes_on: true, ..Config::default() })
}

#[test]
fn a_launch_that_goes_on_after_a_fault_says_the_same_and_more() {
    for (file, text) in files("fail") {
        let (mut more, until_fault) = (said_by(going_on(), &text, "k"), said(&text, "k"));
        if more.len() > until_fault.len() {
            // The fault with which the launch ends comes last.
            let last = more.pop().expect("some");
            more.insert(until_fault.len() - 1, last);
        }
        assert_eq!(more[..until_fault.len()], until_fault, "{file}");
    }
}

#[test]
fn an_access_that_fails_is_left_out_and_what_follows_is_checked() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd1, %rd0;
    atom.global.add.u32 %r1, [%rd1], 1;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, 5;
    st.global.u32 [%rd1], %r2;
    st.global.u32 [%rd0], %r0;
    ret;
}}
"
    );
    let mut device = going_on();
    let data = upload(&mut device, &[0; 16]);
    let ended = launch(&mut device, &text, "k", Shape::line(1, 8), data.to_le_bytes().to_vec());
    let (first, said) = (ended.expect_err("four threads too many"), device.reports());
    assert_eq!((first.kind, first.place.ptx), (Kind::OutOfBounds, Some(12)));
    let kinds: Vec<_> = said.iter().map(|fault| (fault.kind, fault.place.ptx)).collect();
    let bounds = |line| (Kind::OutOfBounds, Some(line));
    assert_eq!(kinds, [bounds(13), bounds(15), (Kind::Race, Some(16))]);
    assert_eq!(words(device.bytes(data, 16).expect("allocated"))[1..], [6, 6, 6]);
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

/// Kinds that a single kernel cannot show, or only with other inputs or checks.
const NOT_SHOWN: [Kind; 8] = [
    Kind::UseBeforeAllocation,
    Kind::InvalidFree,
    Kind::OutOfView,
    Kind::StreamRace,
    Kind::Leak,
    Kind::NotFinite,
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
