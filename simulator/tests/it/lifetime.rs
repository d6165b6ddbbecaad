//! The life of global memory as the host sees it: when it was allocated and freed, and invalid frees.

use simulator::{Device, Fault, Kind, Near, Note};

use crate::machine::{HEADER, Shape, device, launch, upload};

/// Two kernels: one writes to its parameter, one does nothing.
const KERNELS: &str = ".visible .entry put(.param .u64 a)\n{\n.reg .b64 %a;\n.reg .b32 %v;\nmov.u32 %v, 9;\n\
    ld.param.u64 %a, [a];\nst.global.u32 [%a], %v;\nret;\n}\n.visible .entry nothing(.param .u64 a)\n{\nret;\n}\n";

fn run(device: &mut Device, kernel: &str, address: u64) -> Result<(), Fault> {
    let text = format!("{HEADER}{KERNELS}");
    launch(device, &text, kernel, Shape::line(1, 1), address.to_le_bytes().to_vec())
}

fn notes(fault: &Fault) -> Vec<String> {
    fault.notes.iter().map(Note::to_string).collect()
}

#[test]
fn a_fault_says_when_its_memory_was_allocated_and_freed() {
    let mut device = device();
    let early = upload(&mut device, &[0; 4]);
    run(&mut device, "put", early).expect("live");
    run(&mut device, "nothing", early).expect("live");
    let late = upload(&mut device, &[7; 4]);
    run(&mut device, "put", early).expect("live");
    device.free(late).expect("live");
    let fault = run(&mut device, "put", late).expect_err("freed");
    assert_eq!(fault.kind, Kind::UseAfterFree);
    assert_eq!(notes(&fault), ["allocated after launch 2 (`nothing`)", "freed after launch 3 (`put`)"]);
    let fault = run(&mut device, "put", early + 4).expect_err("behind");
    assert_eq!(fault.kind, Kind::OutOfBounds);
    assert_eq!(notes(&fault), ["allocated before the first launch", "bytes: 09 00 00 00 [-- -- -- --]"]);
}

#[test]
fn an_invalid_free_says_what_is_at_the_address() {
    let mut device = device();
    let address = upload(&mut device, &[0; 32]);
    let empty = device.allocate(0).expect("memory");
    for (wrong, expected) in [
        (address + 8, "offset 8 of an allocation of size 32 bytes"),
        (address - 8, "8 bytes before the nearest allocation of size 32 bytes"),
        (address + 32, "offset 32 of an allocation of size 32 bytes"),
        (0, "near the null pointer"),
        (1 << 62, "where no allocation of this device ever was"),
    ] {
        let fault = device.free(wrong).expect_err("no allocation");
        let near = fault.near.expect("the nearest allocation, if there is one").to_string();
        assert_eq!((fault.kind, near.as_str()), (Kind::InvalidFree, expected), "{wrong:x}");
    }
    for address in [address, empty] {
        device.free(address).expect("live");
        let fault = device.free(address).expect_err("freed");
        assert_eq!(fault.kind, Kind::InvalidFree);
        assert!(matches!(fault.near, Some(Near::Freed { .. })), "{fault}");
        assert_eq!(fault.notes.len(), 2, "{fault}");
    }
}

#[test]
fn bytes_are_shown_where_they_exist() {
    let mut device = device();
    let address = upload(&mut device, &(0..64).collect::<Vec<u8>>());
    for (at, bytes, expected) in [
        (62, 4, "bytes: 2e 2f 30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d [3e 3f -- --]"),
        (72, 2, "bytes: 38 39 3a 3b 3c 3d 3e 3f -- -- -- -- -- -- -- -- [-- --]"),
        (-4, 8, "bytes: [-- -- -- -- 00 01 02 03] 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13"),
    ] {
        let fault = device.bytes(address.wrapping_add_signed(at), bytes).expect_err("outside");
        assert_eq!(notes(&fault)[1..], [expected], "{at}");
    }
    for (at, bytes) in [(90, 4), (-40, 4), (0, 65)] {
        let fault = device.bytes(address.wrapping_add_signed(at), bytes).expect_err("outside");
        assert_eq!(fault.notes.len(), 1, "{at}");
    }
}
