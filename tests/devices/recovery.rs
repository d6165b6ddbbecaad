//! After a device-side assert: what each call does, and a service that recovers. Both are examples to copy.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Limits, reproduction};

use crate::crates;
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Each:
    after_an_assert_every_call_on_that_device_fails_and_other_devices_work,
    a_supervised_service_answers_all_requests_except_the_one_that_loses_the_device
];

fn after_an_assert_every_call_on_that_device_fails_and_other_devices_work(device: Device) {
    if let Device::Cuda(_) = device {
        let printed = run("after_an_assert", device, &[]);
        // When a GPU delivers the error is its own affair. Reading back waits for it, and it stays.
        let lost =
            |call: &str| printed.lines().any(|line| line.starts_with(call) && line.contains("CUDA_ERROR_ASSERT"));
        for call in ["to_vec2 of the table, which waits", "matmul again", "a new tensor on the device", "synchronize"] {
            assert!(lost(call), "`{call}` does not fail:\n{printed}");
        }
        let second = printed.lines().filter(|line| line.contains("second device")).collect::<Vec<_>>();
        let works = second.iter().all(|line| line.ends_with(" Ok") || line.ends_with("there is none"));
        assert!(!second.is_empty() && works, "{printed}");
        return;
    }
    check("after_an_assert", device);
}

fn a_supervised_service_answers_all_requests_except_the_one_that_loses_the_device(device: Device) {
    if let Device::Cuda(_) = device {
        let printed = run("supervised", device, &[]);
        let errors: Vec<&str> = printed.lines().filter(|line| line.contains("error")).collect();
        assert!(errors.len() == 1 && errors[0].contains("the device is lost"), "{printed}");
        assert!(printed.ends_with("restarts: 1\n"), "{printed}");
        return;
    }
    check("supervised", device);
}

/// Snapshots the output of an example on the CPU, or on a simulated device with each way to deliver errors.
fn check(name: &str, device: Device) {
    if device == Device::Cpu {
        return snapshot(name, "", &run(name, device, &[]));
    }
    let delivered = |delivery: &str| {
        let variable = format!("SNUFFER_SIM_DELIVERY={delivery}");
        format!("-- {delivery}\n{}", run(name, device, &[&variable, "SNUFFER_SIM_DEVICES=2"]))
    };
    snapshot(name, "sim", &["late", "next", "immediate"].map(delivered).join("\n"));
}

/// The output of an example, built as its own crate: it must depend on candle alone to be easy to copy.
fn run(name: &str, device: Device, variables: &[&str]) -> String {
    let path = place::root().join("examples").join(name).with_extension("rs");
    let source = std::fs::read_to_string(path).expect("an example");
    let (krate, argument) = match device {
        Device::Cpu => (name.to_string(), "cpu"),
        Device::Cuda(_) => (format!("{name}-cuda"), "cuda:0"),
        Device::Sim(_) => (format!("{name}-sim"), "cuda:0"),
    };
    let program = crates::compile(&krate, device, &source);
    let arguments = [variables, &[program.to_str().expect("text"), argument]].concat();
    let limits = Limits { deadline: Duration::from_secs(60), memory_mib: 8192, ..Limits::default() };
    let ran = reproduction::run(Path::new("env"), &arguments, device, limits).expect("a shell runs");
    assert_eq!(ran.code, Some(0), "{name} on {device} with {variables:?}:\n{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn snapshot(name: &str, suffix: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_suffix(suffix);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
