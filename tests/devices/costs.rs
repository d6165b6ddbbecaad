//! What calls cost: memory and work out of proportion are findings of the rank cost, and nothing else is.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::ops;
use snuffer::oracle::{Evidence, OracleName, Rank, judge};

use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Simulated: a_call_that_keeps_one_warp_busy_is_a_finding_of_the_rank_cost,
    few_threads_that_are_soon_done_are_none,
    a_call_that_needs_much_more_memory_than_its_tensors_is_one;
    Each: memory_that_every_call_keeps_is_one;
    Once: the_cpu_counts_memory_too
];

/// A product by a quantized matrix on a device object that is opened for it and closed: candle keeps a workspace for each.
const WORKSPACES: &str = "op = \"relation.quantized_there\"\nrepeat = 10\n[params]\nto = \"again\"\nformat = \"Q4_0\"\n\
    [inputs.x]\ndtype = \"f32\"\nshape = [1, 32]\nvalues = { fill = { constant = 1.0 } }\n\
    [inputs.blocks]\ndtype = \"f32\"\nshape = [1, 32]\nvalues = { fill = { constant = 1.0 } }\n";

/// The kinds of the oracle of costs on `device`; each has the rank *cost*.
fn costs(text: &str, device: Device) -> Vec<String> {
    let case = Case::parse(text).expect("a case");
    let mut executor = Executor::start(&[device], &WorkerSpec::default()).expect("a worker starts");
    let seen = executor.observe(&case, Deadline::Full).expect("the harness survives");
    let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen);
    let verdict = judge(&evidence);
    let found = verdict.violations().iter().filter(|violation| violation.oracle == OracleName::Cost);
    let found = found.map(|violation| {
        assert_eq!(violation.signature(&case.op).rank(), Rank::Cost);
        format!("{} {}", violation.kind, violation.site)
    });
    found.collect()
}

fn softmax(columns: usize) -> String {
    format!(
        "op = \"op.softmax_last_dim\"\n[inputs.x]\ndtype = \"f32\"\nshape = [1, {columns}]\nvalues = {{ fill = {{ constant = 1.0 }} }}\n"
    )
}

fn embedding(ids: usize) -> String {
    format!(
        "op = \"tensor.index_add\"\n[params]\ndim = 0\n\
         [inputs.x]\ndtype = \"f32\"\nshape = [4, 8]\nvalues = {{ fill = {{ constant = 1.0 }} }}\n\
         [inputs.src]\ndtype = \"f32\"\nshape = [{ids}, 8]\nvalues = {{ fill = {{ constant = 1.0 }} }}\n\
         [inputs.ids]\ndtype = \"u32\"\nshape = [{ids}]\nvalues = {{ fill = {{ constant = 1 }} }}\n"
    )
}

fn a_call_that_keeps_one_warp_busy_is_a_finding_of_the_rank_cost(device: Device) {
    for text in [softmax(131_072), embedding(16_384)] {
        assert_eq!(costs(&text, device), ["serial forward"], "{text}");
    }
}

fn few_threads_that_are_soon_done_are_none(device: Device) {
    for text in [softmax(1024), embedding(64)] {
        assert_eq!(costs(&text, device), [""; 0], "{text}");
    }
}

/// A convolution that writes out its windows needs as many times its input as it has taps.
fn a_call_that_needs_much_more_memory_than_its_tensors_is_one(device: Device) {
    let convolution = |taps: usize| {
        format!(
            "op = \"tensor.conv1d\"\n[params]\nstride = 1\npadding = 0\ndilation = 1\ngroups = 1\n\
             [inputs.x]\ndtype = \"f32\"\nshape = [1, 1, 20000]\nvalues = {{ fill = {{ constant = 1.0 }} }}\n\
             [inputs.kernel]\ndtype = \"f32\"\nshape = [1, 1, {taps}]\nvalues = {{ fill = {{ constant = 1.0 }} }}\n"
        )
    };
    assert_eq!(costs(&convolution(128), device), ["too much memory forward"]);
    assert_eq!(costs(&convolution(3), device), [""; 0]);
}

fn memory_that_every_call_keeps_is_one(device: Device) {
    let kept = "op = \"canary\"\nrepeat = 100\n[params]\nfault = \"keep memory\"\n\
        [inputs.x]\ndtype = \"f32\"\nshape = [1]\nvalues = { list = [1.0] }\n";
    assert_eq!(costs(kept, device), ["growing memory forward"]);
    assert_eq!(costs(&kept.replace("keep memory", "none"), device), [""; 0]);
    let grows = if device == Device::Cpu { &[][..] } else { &["growing memory forward"] };
    assert_eq!(costs(WORKSPACES, device), grows);
}

fn the_cpu_counts_memory_too() {
    a_call_that_needs_much_more_memory_than_its_tensors_is_one(Device::Cpu);
}
