//! Cooperative launches: blocks that wait for each other, and what is said of those that should.

use simulator::{Device, Fault, Kind, Launch};

use crate::machine::{HEADER, Shape, device, upload, words};

const BLOCKS: u32 = 4;
const THREADS: u32 = 64;
const ALL: u32 = BLOCKS * THREADS;

/// The beginning of a kernel: `%rd1` is the buffer, `%r9` the number of a thread in the grid, and `%rd2` the place of its word.
const BEGIN: &str = "
.visible .entry k(.param .u64 buffer)
{
    .reg .pred %p<9>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<20>;
    ld.param.u64 %rd1, [buffer];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r9, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r9, 4;
    add.u64 %rd2, %rd1, %rd3;
    mov.u32 %r4, %envreg2;
    mov.u32 %r5, %envreg1;
    mov.b64 %rd9, {%r4, %r5};
";

/// All blocks meet: what cooperative groups do. The number makes its labels unlike those of others.
fn meet(number: u32) -> String {
    format!(
        "
    setp.ne.u64 %p1, %rd9, 0;
    @%p1 bra VALID{number};
    trap;
VALID{number}:
    barrier.sync 0;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 bra MET{number};
    mov.u32 %r10, %nctaid.x;
    setp.eq.u32 %p3, %r1, 0;
    sub.u32 %r11, 0x80000001, %r10;
    selp.b32 %r12, %r11, 1, %p3;
    atom.add.release.gpu.u32 %r13, [%rd9+4], %r12;
ASK{number}:
    ld.acquire.gpu.u32 %r14, [%rd9+4];
    xor.b32 %r15, %r13, %r14;
    setp.gt.s32 %p4, %r15, -1;
    @%p4 bra ASK{number};
MET{number}:
    barrier.sync 0;
"
    )
}

/// Stores the thread's number and `plus` in its word.
fn store(plus: u32) -> String {
    format!("add.u32 %r20, %r9, {plus};\nst.global.u32 [%rd2], %r20;\n")
}

/// Loads the word of the thread that has this place from behind.
const LOAD: &str = "
    sub.u32 %r21, 255, %r9;
    mul.wide.u32 %rd4, %r21, 4;
    add.u64 %rd5, %rd1, %rd4;
    ld.global.u32 %r22, [%rd5];
";

/// Stores what was loaded behind the words of all threads.
const KEEP: &str = "st.global.u32 [%rd2+1024], %r22;\n";

/// Launches the kernel of these parts; gives the buffer's words and what is said.
fn said(parts: &[&str], is_cooperative: bool) -> (Vec<u32>, Vec<Fault>) {
    let mut device = device();
    let text = format!("{HEADER}{BEGIN}{}\nret;\n}}", parts.concat());
    let buffer = upload(&mut device, &[0; 8 * ALL as usize]);
    let ended = launch(&mut device, &text, buffer, is_cooperative);
    let said = device.reports().into_iter().chain(ended.err()).collect();
    (words(device.bytes(buffer, u64::from(8 * ALL)).expect("allocated")), said)
}

fn launch(device: &mut Device, text: &str, buffer: u64, is_cooperative: bool) -> Result<(), Fault> {
    let module = device.load(text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    let function = device.function(module, "k").expect("it has a kernel");
    let Shape { grid, block, shared } = Shape::line(BLOCKS as usize, THREADS);
    let launch = Launch { grid, block, shared, params: buffer.to_le_bytes().to_vec() };
    if is_cooperative { device.launch_cooperative(function, &launch) } else { device.launch(function, &launch) }
}

fn kinds(said: &[Fault]) -> Vec<Kind> {
    said.iter().map(|fault| fault.kind).collect()
}

#[test]
fn what_other_blocks_wrote_before_they_met_is_read_and_no_race() {
    let (words, said) = said(&[&store(5), &meet(1), LOAD, &meet(2), &store(7), KEEP], true);
    assert_eq!(said, Vec::new());
    let expected: Vec<u32> = (0..ALL).map(|number| number + 7).chain((0..ALL).rev().map(|number| number + 5)).collect();
    assert_eq!(words, expected);
}

#[test]
fn blocks_meet_as_often_as_they_like() {
    let rounds: String =
        (0..40).map(|round| [&store(round), &*meet(2 * round), LOAD, &meet(2 * round + 1)].concat()).collect();
    let (words, said) = said(&[&rounds, KEEP], true);
    assert_eq!(said, Vec::new());
    assert_eq!(words[ALL as usize], 255 + 39);
}

#[test]
fn a_race_is_reported_where_blocks_do_not_meet() {
    for parts in [
        &[&*store(5), LOAD, KEEP][..],
        // The next words are read before all have.
        &[&store(5), &meet(1), LOAD, &store(7), KEEP],
        &[&meet(1), &store(5), LOAD, KEEP],
    ] {
        let (_, said) = said(parts, true);
        assert!(!said.is_empty() && kinds(&said).iter().all(|kind| *kind == Kind::Race), "{parts:?}: {said:?}");
    }
}

#[test]
fn a_block_that_does_not_come_is_a_deadlock() {
    let leave = "setp.eq.u32 %p5, %r1, 2;\n@%p5 ret;\n";
    let (_, said) = said(&[leave, &meet(1)], true);
    assert_eq!(kinds(&said), [Kind::Deadlock]);
    let waiting = said[0].to_string();
    assert!(waiting.contains("1 thread waits for others of the grid"), "{waiting}");
    assert!(waiting.contains("63 threads wait for the block"), "{waiting}");
}

#[test]
fn blocks_of_an_ordinary_launch_cannot_meet() {
    let (_, said) = said(&[&meet(1)], false);
    assert_eq!(kinds(&said), [Kind::Trap]);
}

#[test]
fn a_block_of_a_cooperative_launch_may_wait_for_a_later_one() {
    // Each waits for the word of its successor, and then writes its own.
    let wait = "
    add.u32 %r30, %r1, 1;
    setp.ge.u32 %p5, %r30, 4;
    @%p5 bra LAST;
WAIT:
    ld.volatile.global.u32 %r31, [%rd2+256];
    setp.eq.u32 %p6, %r31, 0;
    @%p6 bra WAIT;
LAST:
    add.u32 %r32, %r31, 1;
    st.volatile.global.u32 [%rd2], %r32;
";
    let (words, said) = said(&["mov.u32 %r31, 0;\n", wait], true);
    assert_eq!(said, Vec::new());
    assert_eq!([words[0], words[64], words[128], words[192]], [4, 3, 2, 1]);
}

#[test]
fn each_block_has_its_own_shared_memory() {
    let array = ".shared .align 4 .b32 kept;\nsetp.ne.u32 %p5, %r3, 0;\n@!%p5 st.shared.u32 [kept], %r1;\n";
    let (words, said) = said(&[array, &meet(1), "ld.shared.u32 %r22, [kept];\n", KEEP], true);
    assert_eq!(said, Vec::new());
    let kept = &words[ALL as usize..];
    assert_eq!([kept[0], kept[64], kept[128], kept[255]], [0, 1, 2, 3]);
}
