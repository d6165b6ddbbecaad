//! What orders accesses (PTX ISA 8.7, 8.8): a message that one thread passes to another by every combination of fences, scopes and
//! strengths; locks; barriers of some threads; accesses that leave the value as it was.

use simulator::{Config, Device, Fault, Kind, Missing, Note};

use crate::machine::{HEADER, Shape, launch, upload};

/// The scopes by name, and whether each reaches other blocks.
const SCOPES: [(&str, bool); 4] = [("cta", false), ("cluster", false), ("gpu", true), ("sys", true)];

/// An instruction that takes part in passing the message on.
#[derive(Clone)]
struct Step {
    text: String,
    /// Whether it orders; if it does, whether for other blocks, too.
    orders: Option<bool>,
}

fn step(text: impl Into<String>, orders: Option<bool>) -> Step {
    Step { text: text.into(), orders }
}

/// The fences that release or acquire, by `own`, and none.
fn fences(own: &str) -> Vec<Step> {
    let orders = ["sc", "acq_rel", own];
    let fences = SCOPES
        .into_iter()
        .flat_map(|(scope, wide)| orders.map(|order| step(format!("fence.{order}.{scope};\n"), Some(wide))));
    let old = [("cta", false), ("gl", true), ("sys", true)];
    let old = old.into_iter().map(|(scope, wide)| step(format!("membar.{scope};\n"), Some(wide)));
    fences.chain(old).chain([step("", None)]).collect()
}

/// Whether a fence of this name is tested here.
pub fn covers(name: &str) -> bool {
    ["release", "acquire"].into_iter().flat_map(fences).any(|fence| fence.text.trim_end_matches(";\n") == name)
}

/// The strong accesses of these names, each with its scope.
fn flags(volatile: &str, strong: &str, rest: &str) -> Vec<Step> {
    let ordered = SCOPES.into_iter().map(|(scope, wide)| step(strong.replace("SCOPE", scope) + rest, Some(wide)));
    ordered.chain([step(volatile.to_string() + rest, Some(true))]).filter(|step| !step.text.is_empty()).collect()
}

/// Runs `first` in one thread and then `second` in another: of another block, or of another warp of the block.
fn said(checks: &str, first: &str, second: &str, in_other_block: bool) -> Vec<Fault> {
    let (me, shape) = if in_other_block { ("%ctaid.x", Shape::line(2, 1)) } else { ("%tid.x", Shape::line(1, 64)) };
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, {me};
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra FIRST;
    setp.ne.u32 %p1, %r0, {};
    @%p1 bra END;
    {second}
    bra END;
FIRST:
    {first}
END:
    ret;
}}
",
        if in_other_block { 1 } else { 32 }
    );
    let checks = checks.parse().expect("checks");
    let mut device = Device::new(0, &Config { budget: 1_000_000, checks, ..Config::default() });
    let data = upload(&mut device, &[0; 64]);
    let ended = launch(&mut device, &text, "k", shape, data.to_le_bytes().to_vec());
    device.reports().into_iter().chain(ended.err()).collect()
}

/// The reason of the race on the message, if there is one.
fn reason(said: &[Fault]) -> Option<Missing> {
    said.iter().flat_map(|fault| &fault.notes).find_map(|note| match note {
        Note::Unordered(missing) => Some(*missing),
        _ => None,
    })
}

/// Passes a message on: the faults of the kernel that publishes and receives it like this.
fn pass_on(publish: &str, receive: &str, in_other_block: bool) -> Vec<Fault> {
    let first = format!("st.global.u32 [%rd0], 7;\n{publish}");
    let second = format!("{receive}ld.global.u32 %r2, [%rd0];\nst.global.u32 [%rd0+8], %r2;\n");
    said("all", &first, &second, in_other_block)
}

#[test]
fn a_message_arrives_if_both_sides_have_a_fence_and_no_scope_is_too_narrow() {
    let writes = flags("st.volatile.global.u32", "st.relaxed.SCOPE.global.u32", " [%rd0+4], 1;\n");
    let updates = flags("atom.global.exch.b32", "atom.relaxed.SCOPE.global.exch.b32", " %r3, [%rd0+4], 1;\n");
    let reads = flags("ld.volatile.global.u32", "ld.relaxed.SCOPE.global.u32", " %r1, [%rd0+4];\n");
    let mut ordered = 0;
    for in_other_block in [false, true] {
        for (release, write) in product(&fences("release"), &[writes.clone(), updates.clone()].concat()) {
            for (acquire, read) in product(&fences("acquire"), &reads) {
                let said = pass_on(
                    &(release.text.clone() + &write.text),
                    &(read.text.clone() + &acquire.text),
                    in_other_block,
                );
                let reaches = |step: &Step| step.orders.is_some_and(|wide| wide || !in_other_block);
                let passes = [&release, &write, &read, &acquire].into_iter().all(reaches);
                let shown = format!("{release}{write}{read}{acquire}, in another block: {in_other_block}");
                assert_eq!(said.is_empty(), passes, "{shown}: {said:?}");
                ordered += usize::from(passes);
            }
        }
    }
    assert!(ordered > 1000, "{ordered}");
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn product<'a>(one: &'a [Step], other: &'a [Step]) -> impl Iterator<Item = (Step, Step)> + 'a {
    one.iter().flat_map(|one| other.iter().map(|other| (one.clone(), other.clone())))
}

#[test]
fn accesses_that_release_and_acquire_need_no_fence() {
    for (scope, wide) in SCOPES {
        for write in [
            format!("st.release.{scope}.global.u32 [%rd0+4], 1;\n"),
            format!("atom.release.{scope}.global.add.u32 %r3, [%rd0+4], 1;\n"),
        ] {
            for read in [
                format!("ld.acquire.{scope}.global.u32 %r1, [%rd0+4];\n"),
                format!("atom.acquire.{scope}.global.add.u32 %r1, [%rd0+4], 0;\n"),
                format!("atom.acq_rel.{scope}.global.add.u32 %r1, [%rd0+4], 0;\n"),
            ] {
                for in_other_block in [false, true] {
                    let said = pass_on(&write, &read, in_other_block);
                    assert_eq!(said.is_empty(), wide || !in_other_block, "{write}{read}: {said:?}");
                }
            }
        }
    }
}

#[test]
fn a_race_says_which_fence_is_missing_and_which_scope_is_too_narrow() {
    const SET: &str = "st.relaxed.gpu.global.u32 [%rd0+4], 1;\n";
    const READ: &str = "ld.relaxed.gpu.global.u32 %r1, [%rd0+4];\n";
    const FENCE: &str = "fence.acq_rel.gpu;\n";
    const NARROW: &str = "fence.acq_rel.cta;\n";
    let (set_in_block, read_in_block) = (SET.replace("gpu", "cta"), READ.replace("gpu", "cta"));
    for (publish, receive, expected) in [
        ([FENCE, SET], [READ, ""], Missing::AcquireFence),
        (["", SET], [READ, FENCE], Missing::ReleaseFence),
        ([SET, FENCE], [READ, FENCE], Missing::ReleaseFence),
        ([FENCE, SET], [FENCE, READ], Missing::AcquireFence),
        ([NARROW, SET], [READ, FENCE], Missing::Scope),
        ([FENCE, SET], [READ, NARROW], Missing::Scope),
        ([FENCE, &set_in_block], [READ, FENCE], Missing::Scope),
        ([FENCE, SET], [&read_in_block, FENCE], Missing::Scope),
    ] {
        let said = pass_on(&publish.concat(), &receive.concat(), true);
        assert_eq!(reason(&said), Some(expected), "{publish:?} {receive:?}: {said:?}");
    }
}

#[test]
fn atomics_of_block_scope_race_between_blocks() {
    for (scope, wide) in SCOPES {
        let update = format!("red.relaxed.{scope}.global.add.u32 [%rd0], 1;\n");
        for in_other_block in [false, true] {
            let said = said("all", &update, &update, in_other_block);
            let kinds: Vec<Kind> = said.iter().map(|fault| fault.kind).collect();
            let expected = if wide || !in_other_block { vec![] } else { vec![Kind::Race] };
            assert_eq!(kinds, expected, "{scope}");
            assert_eq!(reason(&said), (!expected.is_empty()).then_some(Missing::Scope));
        }
    }
}

#[test]
fn a_lock_orders_what_its_holders_do() {
    let hold = |after_taking: &str, before_release: &str, release: &str| {
        format!(
            "AGAIN_N:\natom.global.cas.b32 %r1, [%rd0+4], 0, 1;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra AGAIN_N;\n{after_taking}
            ld.global.u32 %r2, [%rd0];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd0], %r2;\n{before_release}{release}\n"
        )
    };
    const FENCE: &str = "membar.gl;\n";
    const OPEN: &str = "atom.global.exch.b32 %r3, [%rd0+4], 0;";
    for (after_taking, before_release, release, races) in [
        (FENCE, FENCE, OPEN, false),
        ("", FENCE, OPEN, true),
        (FENCE, "", OPEN, true),
        ("membar.cta;\n", FENCE, OPEN, true),
        (FENCE, FENCE, "st.volatile.global.u32 [%rd0+4], 0;", false),
        (FENCE, FENCE, "st.global.u32 [%rd0+4], 0;", true),
    ] {
        let hold = hold(after_taking, before_release, release);
        let said = said("all", &hold.replace("_N", "_0"), &hold.replace("_N", "_1"), true);
        assert_eq!(!said.is_empty(), races, "{after_taking}|{before_release}|{release}: {said:?}");
        assert!(said.iter().all(|fault| fault.kind == Kind::Race), "{said:?}");
    }
}

#[test]
fn what_reached_a_thread_reaches_those_that_it_meets() {
    // The first thread of block 1 waits for the flag for its block. A fence of the reader and a barrier let all of them read the data.
    let kernel = |fence: &str| {
        format!(
            "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd1, %rd0;
    setp.ne.u32 %p0, %r0, 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra SECOND;
    st.global.u32 [%rd1+64], %r0;
    bar.sync 0;
    @%p0 bra END;
    membar.gl;
    atom.global.exch.b32 %r2, [%rd0], 1;
    bra END;
SECOND:
    @%p0 bra MEET;
WAIT:
    atom.global.add.u32 %r2, [%rd0], 0;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra WAIT;
    {fence}
MEET:
    bar.sync 0;
    ld.global.u32 %r3, [%rd1+64];
    st.global.u32 [%rd1+1024], %r3;
END:
    ret;
}}
"
        )
    };
    for (fence, expected) in [("membar.gl;", None), ("", Some(Kind::Race)), ("membar.cta;", Some(Kind::Race))] {
        let mut device = crate::machine::device();
        let data = upload(&mut device, &[0; 2048]);
        launch(&mut device, &kernel(fence), "k", Shape::line(2, 64), data.to_le_bytes().to_vec()).expect("no fault");
        assert_eq!(device.reports().first().map(|fault| fault.kind), expected, "{fence}");
    }
}

#[test]
fn a_barrier_of_some_threads_orders_those_alone() {
    // Each thread writes a word, and after the barrier reads that of the thread `away` from it.
    let kernel = |barrier: &str, away: u32| {
        format!(
            "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %tid.x;
    shr.u32 %r4, %r0, 6;
    add.u32 %r4, %r4, 1;
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd1, %rd0;
    st.global.u32 [%rd1], %r0;
    {barrier}
    xor.b32 %r1, %r0, {away};
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd2, %rd2, %rd0;
    ld.global.u32 %r3, [%rd2];
    st.global.u32 [%rd1+1024], %r3;
    ret;
}}
"
        )
    };
    for (barrier, away, races) in [
        ("bar.sync %r4, 64;", 32, false),
        ("bar.sync %r4, 64;", 64, true),
        ("bar.sync 0, 128;", 64, false),
        ("bar.sync 0;", 64, false),
        ("bar.warp.sync 0xffffffff;", 1, false),
        ("bar.warp.sync 0xffffffff;", 32, true),
        ("and.b32 %r5, %r0, 16;\nshl.b32 %r6, 0xffff, %r5;\nbar.warp.sync %r6;", 8, false),
        ("and.b32 %r5, %r0, 16;\nshl.b32 %r6, 0xffff, %r5;\nbar.warp.sync %r6;", 16, true),
    ] {
        let mut device = crate::machine::device();
        let data = upload(&mut device, &[0; 2048]);
        let ended = launch(&mut device, &kernel(barrier, away), "k", Shape::line(1, 128), data.to_le_bytes().to_vec());
        ended.expect("no fault");
        let said = device.reports();
        assert_eq!(!said.is_empty(), races, "{barrier} {away}: {said:?}");
    }
}

#[test]
fn accesses_that_leave_the_value_as_it_was_are_reported_on_request() {
    let write = "st.global.u32 [%rd0], 7;\n";
    for (checks, expected) in [("all", 0), ("all,same-values", 1), ("races", 0), ("races,same-values", 1)] {
        for in_other_block in [false, true] {
            let said = said(checks, write, write, in_other_block);
            assert_eq!(said.len(), expected, "{checks}: {said:?}");
            assert!(said.iter().all(|fault| fault.notes.contains(&Note::SameValue)), "{said:?}");
        }
    }
    assert_eq!(said("all,same-values", write, "ld.global.u32 %r1, [%rd0+4];\n", true), Vec::new());
}

#[test]
fn a_load_with_which_a_loop_of_compare_and_swap_begins_does_not_race() {
    let update = |load: &str, name: &str| {
        format!(
            "{load} %r1, [%rd0];\n{name}:\nmov.u32 %r2, %r1;\nadd.u32 %r3, %r2, 1;
            atom.global.cas.b32 %r1, [%rd0], %r2, %r3;\nsetp.ne.u32 %p2, %r1, %r2;\n@%p2 bra {name};\n"
        )
    };
    let load = "ld.global.u32";
    assert_eq!(said("all", &update(load, "ONE"), &update(load, "OTHER"), true), Vec::new());
    let reads = format!("{load} %r4, [%rd0];\nst.global.u32 [%rd0+8], %r4;\n");
    let kinds: Vec<Kind> = said("all", &update(load, "ONE"), &reads, true).iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [Kind::Race]);
}

/// Block 0 writes to `[data+8]` if block 1 has set a flag, which block 1 does before it writes there, too.
fn guarded(orders: u64, fence: &str) -> (Vec<Fault>, Vec<u8>, u64) {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %ctaid.x;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra SETS;
    ld.relaxed.gpu.global.u32 %r1, [%rd0];
    {fence}
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra END;
    st.global.u32 [%rd0+8], 3;
    bra END;
SETS:
    st.global.u32 [%rd0+8], 5;
    {fence}
    st.relaxed.gpu.global.u32 [%rd0], 1;
END:
    ret;
}}
"
    );
    let mut device = Device::new(0, &Config { orders, ..Config::default() });
    let data = upload(&mut device, &[0; 16]);
    launch(&mut device, &text, "k", Shape::line(2, 1), data.to_le_bytes().to_vec()).expect("no fault");
    let launches = device.coverage().iter().map(|covered| covered.launches).sum();
    (device.reports(), device.bytes(data, 16).expect("allocated").to_vec(), launches)
}

#[test]
fn a_race_that_needs_another_order_is_found_by_running_the_launch_in_it() {
    let (usual, result, launches) = guarded(1, "");
    assert_eq!((usual, launches), (Vec::new(), 1));
    let (others, same_result, launches) = guarded(4, "");
    assert_eq!((same_result, launches), (result, 1), "the program sees the usual order alone");
    let kinds: Vec<Kind> = others.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [Kind::Race]);
    assert!(others[0].to_string().contains("in another order than usual: in order 1"), "{}", others[0]);
    assert_eq!(guarded(4, "fence.acq_rel.gpu;").0, Vec::new());
}

#[test]
fn a_read_after_an_atomic_of_its_own_thread_races_with_those_of_others() {
    let update = "red.global.add.u32 [%rd0], 1;\n";
    let read = format!("{update}ld.global.u32 %r1, [%rd0];\n");
    for in_other_block in [false, true] {
        // With a fence in the kernel and without.
        for fence in ["", "fence.acq_rel.gpu;\n"] {
            let kinds = |said: Vec<Fault>| said.iter().map(|fault| fault.kind).collect::<Vec<_>>();
            let first = format!("{fence}{update}");
            assert_eq!(kinds(said("all", &first, &read, in_other_block)), [Kind::Race]);
            assert_eq!(kinds(said("all", &first, update, in_other_block)), []);
        }
    }
}

#[test]
fn blocks_of_a_small_launch_may_wait_for_each_other() {
    // Block 0 waits for block 1, and the other way round: `turn` is whose it is.
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    mov.u32 %r0, %ctaid.x;
    xor.b32 %r4, %r0, 1;
    mov.u32 %r5, 0;
WAIT:
    ld.acquire.gpu.global.u32 %r1, [%rd0];
    setp.ne.u32 %p0, %r1, %r0;
    @%p0 bra WAIT;
    ld.global.u32 %r2, [%rd0+4];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%rd0+4], %r2;
    st.release.gpu.global.u32 [%rd0], %r4;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 10;
    @%p1 bra WAIT;
    ret;
}}
"
    );
    let mut device = Device::new(0, &Config::default());
    let data = upload(&mut device, &[0; 8]);
    launch(&mut device, &text, "k", Shape::line(2, 1), data.to_le_bytes().to_vec()).expect("no fault");
    assert_eq!(device.reports(), Vec::new());
    assert_eq!(device.bytes(data, 8).expect("allocated")[4], 20);
}

#[test]
fn a_thread_that_ends_before_a_barrier_of_its_block_is_reported_on_request() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    mov.u32 %r0, %tid.x;
    setp.ge.u32 %p0, %r0, 40;
    @%p0 ret;
    bar.sync 0;
    ret;
}}
"
    );
    for (checks, expected) in [("all", None), ("all,early-exits", Some("24 threads of the block have ended"))] {
        let checks = checks.parse().expect("checks");
        let mut device = Device::new(0, &Config { checks, ..Config::default() });
        launch(&mut device, &text, "k", Shape::line(1, 64), vec![0; 8]).expect("no fault");
        let said = device.reports().first().map(Fault::to_string);
        assert_eq!(said.is_some(), expected.is_some());
        assert!(expected.is_none_or(|text| said.is_some_and(|said| said.contains(text))));
    }
}
