//! Warps, barriers and calls: the kernels of `tests/pass/`, each compared with what its threads must write.

use std::path::{Path, PathBuf};

use simulator::Fault;

use crate::machine::{Shape, launch, upload, words};

/// The text of a kernel's file.
fn text(folder: &str, file: &str) -> String {
    let path = self::folder(folder).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder of kernels.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The files of a folder of kernels, by name.
pub fn files(name: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder(name)).expect("readable");
    let names = entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned());
    let mut files: Vec<(String, String)> = names.map(|file| (file.clone(), text(name, &file))).collect();
    files.sort_unstable();
    files
}

/// The texts of all kernels that pass.
pub fn texts() -> impl Iterator<Item = String> {
    files("pass").into_iter().map(|(_, text)| text)
}

/// The position of a thread.
struct Thread {
    /// Its number in the grid, x first.
    number: u32,
    /// Its number in the block.
    own: u32,
    lane: u32,
    block: [u32; 3],
    place: [u32; 3],
}

/// A row of [`PASSES`]: a kernel `k(.param .u64 out)`, which writes some words per thread.
struct Pass {
    file: &'static str,
    shape: Shape,
    expected: fn(&Thread) -> Vec<u32>,
    /// How often a warp enters each block of code, if that shows that diverged lanes met again.
    blocks: &'static [u64],
}

const fn pass(file: &'static str, threads: u32, expected: fn(&Thread) -> Vec<u32>, blocks: &'static [u64]) -> Pass {
    Pass { file, shape: Shape { grid: [1; 3], block: [threads, 1, 1], shared: 0 }, expected, blocks }
}

const SOLID: Shape = Shape { grid: [2, 3, 2], block: [5, 3, 4], shared: 0 };
const DYNAMIC: Shape = Shape { grid: [2, 1, 1], block: [64, 1, 1], shared: 256 };

const PASSES: &[Pass] = &[
    pass("barrier_object.ptx", 64, handed_over, &[]),
    pass("barrier_object_generic.ptx", 64, handed_over, &[]),
    pass("copies.ptx", 1, |_| vec![77, 1, 77, 2, 3, 77, 7, 8, 9, 0, 0, 0, 13, 1], &[]),
    pass("calls_recursive.ptx", 32, |t| FIBONACCI[t.lane as usize % 8].to_vec(), &[]),
    pass(
        "calls_by_address.ptx",
        32,
        |t| vec![[t.number + 1, t.number * t.number, 2 * t.number][t.number as usize % 3]],
        &[],
    ),
    pass("flag_between_warps.ptx", 128, |t| vec![4 - t.own / 32], &[]),
    pass("lock_between_warps.ptx", 128, |_| vec![4], &[]),
    pass("heap.ptx", 32, |t| vec![t.number + 5, t.number], &[]),
    pass("hints.ptx", 1, |_| vec![8, 9], &[]),
    pass("matrix.ptx", 32, matrices, &[]),
    pass("matrix_generic.ptx", 32, matrices, &[]),
    pass("matrix_specials.ptx", 32, |_| special_products(), &[]),
    pass("member_masks.ptx", 32, |t| vec![t.lane ^ 1, if t.lane < 16 { 0xffff } else { 0 }], &[]),
    pass("warp_sync_sites.ptx", 32, |t| vec![if t.lane < 16 { 131 - t.lane } else { 31 - t.lane }], &[]),
    pass("spin_lock.ptx", 32, |_| vec![31 * 16], &[]),
    pass("mixed_spaces.ptx", 32, |t| vec![if t.number % 2 == 0 { t.number } else { t.number + 1000 }], &[]),
    pass("param_address.ptx", 32, |t| vec![t.number, 1], &[]),
    pass("operands.ptx", 32, |t| vec![if t.lane < 8 { 2 } else { 1 }, !0xff, t.number, 77], &[]),
    pass("if_else.ptx", 64, |t| vec![if t.number % 2 == 0 { t.number * 3 } else { t.number + 100 }, 32], &[2; 4]),
    pass("loop.ptx", 32, |t| vec![t.number * t.number.saturating_sub(1) / 2, u32::MAX], &[1, 31, 1]),
    pass("nested_loops.ptx", 32, |t| vec![(0..t.number).map(|i| (0..i % 4).sum::<u32>() + 1).sum(), 31 - t.lane], &[]),
    pass("exits.ptx", 32, |t| vec![exits(t.number), u32::MAX], &[]),
    pass("early_return.ptx", 96, |t| vec![if t.own >= 70 { 0 } else { (t.own + 1) % 70 * 10 }], &[]),
    pass("barrier_in_loop.ptx", 128, |_| vec![127 * 64], &[]),
    pass("barrier_many.ptx", 64, |t| vec![t.own ^ 32], &[]),
    pass("shuffle.ptx", 32, shuffled, &[]),
    pass("shuffle_in_branch.ptx", 32, |t| vec![if t.lane < 16 { t.lane ^ 1 } else { 1000 + (t.lane ^ 2) }], &[]),
    pass("vote.ptx", 64, voted, &[]),
    pass("warp_sync.ptx", 32, |t| vec![if t.lane < 16 { 15 - t.lane } else { 500 + t.lane }], &[]),
    pass(
        "call.ptx",
        32,
        |t| vec![t.number + 7, t.number * t.number, u32::from(t.number % 2 == 1) * (2 * t.number + 8)],
        &[],
    ),
    pass("predicated.ptx", 32, |t| vec![if t.number < 10 { t.number + 1 } else { t.number - 1 }, 9], &[]),
    pass("scopes.ptx", 32, |t| vec![t.number + 1, t.number + 20, t.number + 300], &[]),
    pass("labels.ptx", 32, |t| vec![if t.number % 3 == 0 { 11 } else { 22 } + t.number], &[]),
    Pass { file: "specials.ptx", shape: SOLID, expected: specials, blocks: &[] },
    Pass {
        file: "specials_of_the_launch.ptx",
        shape: Shape { grid: [2, 1, 1], block: [1, 1, 1], shared: 256 },
        expected: |t| vec![3, 65, 1, 256, 512, 1, 1 + t.block[0]],
        blocks: &[],
    },
    pass("spaces.ptx", 1, |_| vec![1, 14, 16, 33], &[]),
    pass(
        "lane_masks.ptx",
        64,
        |t| {
            let below = (1u32 << t.lane) - 1;
            vec![1 << t.lane, below, below | 1 << t.lane, !(below | 1 << t.lane), !below]
        },
        &[],
    ),
    pass("partial_warp.ptx", 45, |t| vec![if t.own < 32 { u32::MAX } else { (1 << 13) - 1 }, t.own / 32 * 32 + 3], &[]),
    Pass { file: "shared.ptx", shape: DYNAMIC, expected: |t| vec![63 - t.own, 1000 + 63 - t.own], blocks: &[] },
    pass(
        "constants.ptx",
        1,
        |_| vec![0x0403_0201, (-5i32) as u32, 1.5f32.to_bits(), 0x9abc_def0, 0x1234_5678, 0, 7, 400],
        &[],
    ),
    pass("immediates.ptx", 1, |_| immediates(), &[]),
    pass("grammar_functions.ptx", 32, functions, &[]),
    pass(
        "grammar_numbers.ptx",
        1,
        |_| {
            let [half, minus] = [0.15f32, -1.5].map(f32::to_bits);
            let halves = |low: i16, high: i16| u32::from(low as u16) | u32::from(high as u16) << 16;
            let expressions = [halves(15, -3), halves(-1, 5), halves(1, 0), halves(-1, -1)];
            let first = [64, 0x3f80_0000, 0, 0x4000_0000, half, minus, 19, 8, 2, 3, 0, 31];
            [&first[..], &expressions[..]].concat()
        },
        &[],
    ),
    pass("grammar_directives.ptx", 1, |_| vec![7, 0], &[]),
    pass("grammar_scopes.ptx", 32, scopes, &[]),
    pass("grammar_vectors.ptx", 1, |_| vec![4, 2, 2, 4, 4, 2, 2, 1, 0], &[]),
    pass(
        "older_exchanges.ptx",
        32,
        |t| {
            let odd = t.lane % 2 == 1;
            let branch = if odd { [0xaaaa_aaaa, 1] } else { [0, 0] };
            let shuffled = [t.lane ^ 3, t.lane.saturating_sub(1), (t.lane + 1).min(31), 5];
            [&[0xaaaa_aaaa, 2], &shuffled[..], &[u32::from(t.lane == 0)], &branch].concat()
        },
        &[],
    ),
    pass("no_effect.ptx", 1, |_| [&[77, 77, 77, 0, 0, 0], &[-3f32, 3.0].map(f32::to_bits)[..], &[0; 56]].concat(), &[]),
    pass(
        "atomic_vectors.ptx",
        1,
        |_| {
            let floats = [2f32, 5.0, 1.0, 2.5, 1.0, 2.5, 2.5, 1.0].map(f32::to_bits);
            [&floats[..], &[0x3c00_0000, 0x0000_3c00, 0xc000, 0xc000, 2.5f32.to_bits(), u32::MAX]].concat()
        },
        &[],
    ),
    pass(
        "video.ptx",
        1,
        // By the definitions, in wide integers.
        |_| {
            vec![
                0xffff_7f84,
                0xaabb_ffdd,
                0xaabb_ccdd,
                0xaabb_ccd1,
                0x0129_8f60,
                0x0001_ccdd,
                0xaa84_cc84,
                0x7f09_8000,
                0x0000_0002,
                0x0000_0020,
            ]
        },
        &[],
    ),
    pass("order.ptx", 64, |t| vec![t.own ^ 63, t.own], &[]),
    pass("windows.ptx", 32, |t| vec![t.own + 1, t.own + 2, t.own + 3, t.own + 1, t.own + 2, t.own + 3], &[]),
];

/// Sum and product, a square, two calls of `max`, two turns at a counter, a power of two; nothing by the threads that end.
fn functions(t: &Thread) -> Vec<u32> {
    let all = vec![t.lane + 7, 7 * t.lane, t.lane * t.lane, t.lane.max(5), t.lane.max(20), 32, 1 << (t.lane % 4)];
    if t.lane < 16 { all } else { [&all[..6], &[0]].concat() }
}

/// A number of the outer braces, how often a loop runs, and the target of a branch by number.
fn scopes(t: &Thread) -> Vec<u32> {
    let way = [0, 10 + t.lane / 4 % 2, 2, 0][t.lane as usize % 4];
    let added = if t.lane.max(1) > 20 { 0 } else { 100 };
    vec![7 + added, t.lane.max(1), if t.lane < 24 { way } else { 99 }]
}

/// The numbers of Fibonacci, and how many calls each takes.
const FIBONACCI: [[u32; 2]; 8] = [[0, 1], [1, 1], [1, 3], [2, 5], [3, 9], [5, 15], [8, 25], [13, 41]];

/// What the first warp reads of the second; the arrivals that the last phase needs, in the first thread; whether any were missing.
fn handed_over(t: &Thread) -> Vec<u32> {
    let read = |first: u32| if t.own < 32 { first + t.own } else { 0 };
    vec![read(132), read(1032), if t.own == 0 { 33 } else { 0 }, u32::from(t.own < 32)]
}

fn exits(number: u32) -> u32 {
    for i in 0..20 {
        if i * i > number {
            return 100 + i;
        }
        if number + i == 30 {
            return 200 + i;
        }
    }
    300
}

/// Butterfly, down, up and index in the whole warp and in segments of eight; the predicates of all, as bits.
fn shuffled(t: &Thread) -> Vec<u32> {
    let (lane, value) = (t.lane, |lane: u32| lane * 10);
    let first = lane / 8 * 8;
    let down = if lane + 3 < 32 { lane + 3 } else { lane };
    let up = if lane >= 2 { lane - 2 } else { lane };
    let down8 = if lane + 3 < first + 8 { lane + 3 } else { lane };
    let up8 = if lane >= first + 2 { lane - 2 } else { lane };
    let inside = [true, down != lane, up != lane, true, true, down8 != lane, up8 != lane, true];
    let bits = inside.iter().enumerate().map(|(place, &inside)| u32::from(inside) << place).sum();
    let sources = [lane ^ 5, down, up, 6, lane ^ 5, down8, up8, first + 6];
    sources.into_iter().map(value).chain([bits]).collect()
}

/// Ballots, all, any and uniform; of the whole warp and of its lower ten lanes.
fn voted(t: &Thread) -> Vec<u32> {
    let odd = 0xaaaa_aaaa;
    let lower = if t.lane < 10 { odd & 0x3ff } else { 0 };
    let flags = if t.own < 32 { 0b0110 } else { 0b0010 };
    vec![odd, lower, flags]
}

fn specials(t: &Thread) -> Vec<u32> {
    let warp = t.own / 32;
    [t.place, [5, 3, 4], t.block, [2, 3, 2]].concat().into_iter().chain([t.lane, warp]).collect()
}

fn threads(shape: Shape) -> Vec<Thread> {
    let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
    let mut threads = Vec::new();
    for block in 0..gx * gy * gz {
        for own in 0..bx * by * bz {
            threads.push(Thread {
                number: threads.len() as u32,
                own,
                lane: own % 32,
                block: [block % gx, block / gx % gy, block / (gx * gy)],
                place: [own % bx, own / bx % by, own / (bx * by)],
            });
        }
    }
    threads
}

/// Runs a row; gives what was written, and how often each block of code was entered.
fn outcome(pass: &Pass, bytes: usize) -> Result<(Vec<u32>, Vec<u64>), Fault> {
    let mut device = crate::machine::device();
    let out = upload(&mut device, &vec![0; bytes]);
    launch(&mut device, &text("pass", pass.file), "k", pass.shape, out.to_le_bytes().to_vec())?;
    assert_eq!(device.reports(), Vec::new(), "{}", pass.file);
    let written = words(device.bytes(out, bytes as u64).expect("allocated"));
    let blocks = device.coverage().into_iter().find(|covered| covered.kernel == "k").expect("loaded").blocks;
    Ok((written, blocks))
}

#[test]
fn every_kernel_that_passes_writes_what_it_must() {
    for pass in PASSES {
        let expected: Vec<Vec<u32>> = threads(pass.shape).iter().map(pass.expected).collect();
        let each = expected[0].len();
        let (written, _) =
            outcome(pass, 4 * each * expected.len()).unwrap_or_else(|fault| panic!("{}: {fault}", pass.file));
        for (thread, (expected, written)) in expected.iter().zip(written.chunks(each)).enumerate() {
            assert_eq!(written, expected, "{}, thread {thread}", pass.file);
        }
    }
}

#[test]
fn diverged_lanes_meet_again_at_once() {
    for pass in PASSES.iter().filter(|pass| !pass.blocks.is_empty()) {
        let each = (pass.expected)(&threads(pass.shape)[0]).len();
        let (_, blocks) = outcome(pass, 4 * each * pass.shape.block[0] as usize).expect("passes");
        assert_eq!(blocks, pass.blocks, "{}", pass.file);
    }
}

#[test]
fn every_file_of_passes_is_listed_and_says_what_it_shows() {
    for (file, text) in files("pass") {
        assert!(PASSES.iter().any(|pass| pass.file == file), "{file} is not run");
        assert!(text.starts_with("// "), "{file} does not say what it shows");
    }
}

/// Four elements of a · b + c over 32, the same with their first 16 products once more, and four loaded words.
fn matrices(thread: &Thread) -> Vec<u32> {
    let lane = thread.lane as usize;
    let bytes: Vec<u8> =
        (0..192u32).flat_map(|word| word.wrapping_mul(0x9E37_79B1).wrapping_add(0x0123_4567).to_le_bytes()).collect();
    let a = |row: usize, at: usize| i32::from(bytes[32 * row + at] as i8);
    let b = |at: usize, column: usize| i32::from(bytes[512 + 32 * column + at] as i8);
    let places = [(0, 0), (0, 1), (8, 0), (8, 1)].map(|(down, right)| (lane / 4 + down, lane % 4 * 2 + right));
    let sum = |(row, column): (usize, usize), depth| (0..depth).map(|at| a(row, at) * b(at, column)).sum::<i32>();
    let addends = [7, lane as i32, 7, lane as i32];
    let whole: Vec<i32> = places.iter().zip(addends).map(|(&place, addend)| sum(place, 32) + addend).collect();
    let more = places.iter().zip(&whole).map(|(&place, whole)| whole + sum(place, 16));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let own = lane / 4 * 32 + lane % 4 * 4;
    let loaded = [own + 8 * 32, own + 16, own + 512 + 16, own + 512].map(word);
    whole.iter().copied().chain(more).map(|sum| sum as u32).chain(loaded).collect()
}

/// Infinity by zero, in f32 and f16; eight squares of 65504, and one plus it, in f32; eight times 65504 in f16; infinity and NaN.
fn special_products() -> Vec<u32> {
    vec![0x7fff_ffff, 0x7fff_7fff, (8.0 * 65504f32 * 65504.0 + 1.0).to_bits(), 0x7c00_7c00, 0x7f80_0000 ^ 0x7fff_ffff]
}

fn immediates() -> Vec<u32> {
    let [low, high] = [0, 32].map(|shift| ((-1.25f64).to_bits() >> shift) as u32);
    let floats = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    let integers = [255, 8, 5, (-3i32) as u32, 0.5f32.to_bits(), 0x3ff0_0000, 32];
    [&integers[..], &floats(&[8.75]), &[low, high], &floats(&[0.1, 3.0, 1.5, -2.0, 1e3, 0.5])].concat()
}
