//! Pretended memory, and launches on it: what is exact, what runs of a grid that is too large, and what is found.

use simulator::{Config, Device, Fault, Kind};

use crate::machine::{HEADER, Shape, launch};

const GIB: u64 = 1 << 30;

/// A byte more for each of 2^24 threads than 32 bits can count.
const ELEMENTS: u64 = (1 << 32) + (1 << 24);

/// A device with a tebibyte of memory, of which allocations of a gibibyte and more are pretended.
fn device(probes: &[u64]) -> Device {
    Device::new(0, &Config { memory: 1 << 40, pretend: Some(GIB), probes: probes.to_vec(), ..Config::default() })
}

/// Two kernels of the parameters `out` and `numel` whose threads go through `out` in steps of all threads, and write sevens.
/// `narrow` counts in 32 bits, `wide` in 64.
fn kernels() -> String {
    let kernel = |name: &str, begin: &str, go_on: &str| {
        format!(
            ".visible .entry {name}(.param .u64 out, .param .u64 numel)\n{{\n\
             .reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [numel];\n\
             mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmov.u32 %r4, %nctaid.x;\n\
             mov.u32 %r7, 7;\n{begin}bra.uni TEST;\n\
             BODY:\nadd.s64 %rd5, %rd1, %rd3;\nst.global.u8 [%rd5], %r7;\n{go_on}\
             TEST:\nsetp.lt.u64 %p0, %rd3, %rd2;\n@%p0 bra BODY;\nret;\n}}\n"
        )
    };
    let narrow = kernel(
        "narrow",
        "mad.lo.s32 %r5, %r1, %r2, %r3;\nmul.lo.s32 %r6, %r4, %r2;\ncvt.u64.u32 %rd3, %r5;\n",
        "add.s32 %r5, %r5, %r6;\ncvt.u64.u32 %rd3, %r5;\n",
    );
    let wide = kernel(
        "wide",
        "cvt.u64.u32 %rd6, %r3;\nmul.wide.u32 %rd3, %r1, %r2;\nadd.s64 %rd3, %rd3, %rd6;\nmul.wide.u32 %rd4, %r4, %r2;\n",
        "add.s64 %rd3, %rd3, %rd4;\n",
    );
    format!("{HEADER}{narrow}{wide}")
}

/// The kinds of what is said when `kernel` fills `elements` bytes with so many blocks of 1024 threads.
fn fill(device: &mut Device, out: u64, kernel: &str, elements: u64, blocks: usize) -> Vec<Kind> {
    let params = [out, elements].map(u64::to_le_bytes).concat();
    let ended = launch(device, &kernels(), kernel, Shape::line(blocks, 1024), params);
    device.reports().into_iter().chain(ended.err()).map(|said: Fault| said.kind).collect()
}

#[test]
fn what_is_too_large_to_hold_is_exact_at_its_ends_and_in_its_life() {
    let mut device = device(&[]);
    let bytes = 300 * GIB;
    let address = device.allocate(bytes).expect("less than the device has");
    device.fill(address, bytes, &[0]).expect("all of it");
    device.bytes_mut(address + bytes - 4, 4).expect("its last bytes").copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(device.read(address + bytes - 5, 5).expect("its last bytes"), [0, 1, 2, 3, 4]);
    assert_eq!(device.bytes(address + bytes - 4, 5).expect_err("a byte too many").kind, Kind::OutOfBounds);
    assert_eq!(device.bytes(address - 1, 1).expect_err("before it").kind, Kind::OutOfBounds);
    assert_eq!(device.allocate(800 * GIB), None, "more than is left");
    device.free(address).expect("allocated");
    assert_eq!(device.bytes(address, 1).expect_err("it was freed").kind, Kind::UseAfterFree);
    assert_eq!(device.reports(), []);
}

#[test]
fn what_was_never_written_is_known_by_the_byte_and_stays_so_in_a_copy() {
    let mut device = device(&[]);
    let [from, to] = [(); 2].map(|()| device.allocate(GIB).expect("memory"));
    let small = device.allocate(8).expect("memory");
    device.bytes_mut(from + GIB / 2, 3).expect("in it").fill(9);
    device.copy(to + 2, from, GIB - 2).expect("in both");
    device.copy(small, to + GIB / 2, 8).expect("in both");
    assert_eq!(device.read(small, 8).expect("small")[2..5], [9, 9, 9]);
    let said: Vec<String> = device.reports().into_iter().map(|report| report.title()).collect();
    assert_eq!(said, ["Uninitialized __global__ memory read by a copy to the host: 5 of 8 bytes"]);
}

#[test]
fn a_fill_of_a_part_leaves_the_rest_as_it_is() {
    let mut device = device(&[]);
    let address = device.allocate(4 * GIB).expect("memory");
    device.fill(address, 4 * GIB, &[0]).expect("all of it");
    device.fill(address + 3 * GIB + 1, 9000, &[7]).expect("a part");
    device.fill(address + 3 * GIB + 4097, 4096, &[0]).expect("a part of that");
    let read = device.read(address + 3 * GIB, 9002).expect("in it");
    let sevens = |range: std::ops::Range<usize>| read[range].iter().all(|&byte| byte == 7);
    assert!(sevens(1..4097) && sevens(8193..9001) && read[4097..8193].iter().all(|&byte| byte == 0));
    assert_eq!([read[0], read[9001]], [0, 0]);
}

#[test]
fn a_counter_of_32_bits_is_proven_to_go_round_forever_and_one_of_64_is_not() {
    for (kernel, said) in [("narrow", [Kind::Loop]), ("wide", [Kind::Sampled])] {
        let mut device = device(&[]);
        let out = device.allocate(ELEMENTS).expect("memory");
        assert_eq!(fill(&mut device, out, kernel, ELEMENTS, 1 << 14), said, "{kernel}");
    }
}

#[test]
fn a_small_grid_runs_as_a_whole_and_what_it_misses_was_never_written() {
    let mut device = device(&[]);
    let out = device.allocate(ELEMENTS).expect("memory");
    assert_eq!(fill(&mut device, out, "wide", 1 << 14, 16), []);
    assert_eq!(device.read(out + (1 << 14) - 1, 1).expect("in it"), [7]);
    assert_eq!(device.reports(), []);
    device.read(out + (1 << 32), 1).expect("in it");
    assert_eq!(device.reports().len(), 1);
}

#[test]
fn of_a_large_grid_the_ends_the_edges_of_32_bits_and_the_probes_run() {
    let probe = (1 << 32) - 123_456_789;
    let mut device = device(&[probe]);
    let out = device.allocate(ELEMENTS).expect("memory");
    assert_eq!(fill(&mut device, out, "wide", ELEMENTS, (1 << 22) + (1 << 14)), [Kind::Sampled]);
    for element in [0, ELEMENTS - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, probe] {
        assert_eq!(device.read(out + element, 1).expect("in it"), [7], "{element}");
    }
    // The blocks that did not run would have written the others: nothing is said of those.
    assert_eq!(device.read(out + probe - 5000, 1).expect("in it"), [0]);
    assert_eq!(device.reports(), []);
}

#[test]
fn a_block_that_runs_is_checked_as_ever() {
    let mut device = device(&[]);
    let out = device.allocate(ELEMENTS - 1).expect("memory");
    assert_eq!(fill(&mut device, out, "wide", ELEMENTS, (1 << 22) + (1 << 14)), [Kind::OutOfBounds]);
}

#[test]
fn threads_that_write_too_much_run_at_the_ends_of_the_grid_alone() {
    let mut device = device(&[]);
    let out = device.allocate(ELEMENTS).expect("memory");
    // Each thread writes 16,448 elements.
    assert_eq!(fill(&mut device, out, "wide", ELEMENTS, 1 << 8), [Kind::Sampled]);
    let said = |device: &mut Device, element: u64| device.read(out + element, 1).expect("in it")[0];
    assert_eq!([0, 1023, 1024, 255 * 1024].map(|element| said(&mut device, element)), [7, 7, 0, 7]);
    assert_eq!(said(&mut device, ELEMENTS - 1), 7);
}

#[test]
fn a_library_does_not_go_through_billions_of_elements() {
    let mut device = device(&[]);
    let [pretended, small] = [GIB, 1 << 20].map(|bytes| device.allocate(bytes).expect("memory"));
    let refused = device.affords(pretended, (1 << 30) + 1).expect_err("too many steps");
    assert_eq!(refused.kind, Kind::Unsupported);
    assert_eq!(device.affords(pretended, 1 << 30).and(device.affords(small, usize::MAX)), Ok(()));
}

#[test]
fn without_the_setting_nothing_is_pretended_or_left_out() {
    let mut device = Device::new(0, &Config { probes: vec![1], ..Config::default() });
    assert_eq!(device.allocate(ELEMENTS), None);
    let out = device.allocate(1 << 20).expect("memory");
    assert_eq!(fill(&mut device, out, "narrow", 1 << 20, 1 << 10), []);
    assert!(device.read(out, 1 << 20).expect("all of it").iter().all(|&byte| byte == 7));
}
