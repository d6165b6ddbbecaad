//! Tensors of billions of elements, whose launch arithmetic wraps, on the simulated device with pretended memory.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::Limits;
use snuffer::exec::reproduction::{self, Ran};

use crate::crates;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Simulated:
    calls_on_billions_of_elements_do_what_was_seen_before,
    the_guide_says_what_each_of_these_calls_does
];

/// What the calls of `large/program.rs` do, a line for each, and below it what the device says.
const SEEN: &str = include_str!("../../snapshots/large_tensors@sim.snap");

fn calls_on_billions_of_elements_do_what_was_seen_before(device: Device) {
    let source = include_str!("large/program.rs");
    let program = crates::compile("large_tensors", device, source);
    let names = run(&program, device, None).stdout;
    let text: Vec<String> = names.lines().map(|name| seen(&run(&program, device, Some(name)))).collect();
    assert!(text.len() > 20, "{names}");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_suffix("sim");
    settings.bind(|| insta::assert_snapshot!("large_tensors", text.concat()));
}

fn the_guide_says_what_each_of_these_calls_does(_: Device) {
    let guide = include_str!("../../docs/simulator/sizes.md");
    let (_, seen) = SEEN.rsplit_once("---\n").expect("a header");
    let calls = seen.lines().filter_map(|line| line.split_once(": ")).filter(|(name, _)| !name.starts_with(' '));
    let missing: Vec<_> = calls.filter(|(name, _)| !guide.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/simulator/sizes.md lacks {missing:?}");
}

/// Runs a call with a quarter of a tebibyte of memory, of which tensors of a gibibyte and more are pretended.
fn run(program: &Path, device: Device, call: Option<&str>) -> Ran {
    let program = program.to_str().expect("text");
    let mut arguments = vec!["SNUFFER_SIM_MEMORY=262144", "SNUFFER_SIM_PRETEND=1024", program];
    arguments.extend(call);
    let limits = Limits { deadline: Duration::from_secs(120), memory_mib: 1 << 20, ..Limits::default() };
    let ran = reproduction::run(Path::new("env"), &arguments, device, limits).expect("a shell runs");
    assert_eq!(ran.code, Some(0), "{call:?}:\n{}{}", ran.stdout, ran.stderr);
    ran
}

/// What a call printed, and the first lines of what the device said of it: each with its kernel, without the place on this machine.
fn seen(ran: &Ran) -> String {
    let titles = ran.stderr.lines().filter_map(|line| line.strip_prefix("========= "));
    let said = titles.filter(|line| !line.starts_with(' ') || line.starts_with("    at "));
    let short = said.map(|line| line.split(" in /").next().unwrap_or(line));
    short.fold(ran.stdout.clone(), |text, line| format!("{text}  {}\n", line.trim()))
}
