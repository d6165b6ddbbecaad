//! The device as it behaves in place of a GPU: allocations share mapped memory, and only what leaves all of it faults.

use simulator::{Config, Device, Fault, Kind};

use crate::machine::{HEADER, Shape, launch, upload};

/// What the pool that candle allocates of maps at once.
const CHUNK: u64 = 32 << 20;

fn device() -> Device {
    Device::new(0, &Config { hardware: true, budget: 1_000_000, ..Config::default() })
}

/// The word at an address, read by a kernel.
fn read(device: &mut Device, address: u64) -> Result<u32, Fault> {
    let out = device.allocate(4).expect("memory");
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n\
         ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;\nret;\n}}\n"
    );
    let ended = launch(device, &text, "k", Shape::line(1, 1), [address, out].map(u64::to_le_bytes).concat());
    let word = device.bytes(out, 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
    device.free(out).expect("allocated");
    ended.map(|()| word.expect("allocated"))
}

#[test]
fn an_access_outside_of_a_buffer_reaches_its_neighbour_or_zeros_and_faults_only_outside_of_all_that_is_mapped() {
    let mut device = device();
    let [first, second] = [7_u32, 8].map(|word| upload(&mut device, &word.to_le_bytes()));
    assert_eq!(second, first + 512);
    for (at, found) in [(0, Some(7)), (4, Some(0)), (512, Some(8)), (CHUNK - 4, Some(0)), (CHUNK, None)] {
        assert_eq!(read(&mut device, first + at).ok(), found, "{at} bytes behind");
    }
    let fault = |address| read(&mut self::device(), address).expect_err("not mapped").kind;
    assert_eq!([first - 4, 0, 4096].map(fault), [Kind::OutOfBounds; 3]);
    assert_eq!(read(&mut device, first + 2).expect_err("misaligned").kind, Kind::Misaligned);
}

#[test]
fn memory_is_zero_at_first_and_then_what_was_there_before() {
    let mut device = device();
    let before = upload(&mut device, &[9; 8]);
    assert_eq!(device.free(before), Ok(()));
    assert_eq!(device.free(before).expect_err("freed twice").kind, Kind::InvalidFree);
    assert_eq!(read(&mut device, before).ok(), Some(0x0909_0909), "memory that was freed");
    let after = device.allocate(8).expect("memory");
    assert_eq!((after, device.bytes(after, 8)), (before, Ok(&[9; 8][..])));
    assert_eq!(device.bytes(after + 512, 8), Ok(&[0; 8][..]));
    assert_eq!(device.in_use(), 8);
    assert!(device.reports().is_empty());
}

#[test]
fn an_access_past_an_array_of_shared_memory_reaches_the_next() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to)\n{{\n.reg .b64 %rd<2>;\n.reg .b32 %r<4>;\n\
         .shared .align 4 .b8 one[4];\n.shared .align 4 .b8 two[4];\n\
         mov.u32 %r1, 5;\nmov.u32 %r2, one;\nst.shared.u32 [%r2+4], %r1;\nld.shared.u32 %r3, [two];\n\
         ld.param.u64 %rd1, [to];\nst.global.u32 [%rd1], %r3;\nret;\n}}\n"
    );
    let mut device = device();
    let out = upload(&mut device, &[0; 4]);
    launch(&mut device, &text, "k", Shape::line(1, 1), out.to_le_bytes().to_vec()).expect("no fault");
    assert_eq!(device.bytes(out, 4), Ok(&[5, 0, 0, 0][..]));
}
