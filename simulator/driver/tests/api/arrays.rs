//! CUDA arrays, which can be made and described.

use crate::{WELL, room, with_device};
use cuda::api::driver::array::*;
use cuda::api::driver::context::{cuCtxCreate_v2, cuCtxDestroy_v2};
use cuda::api::driver::device::cuDeviceGetAttribute;
use cuda::objects::memory::array::Descriptor;
use std::ptr;

const INVALID_VALUE: u32 = 1;
const INVALID_HANDLE: u32 = 400;
const FLOAT: u32 = 32;
const LAYERED: u32 = 1;
const CUBEMAP: u32 = 4;

fn of(size: [usize; 3], flags: u32) -> Descriptor {
    Descriptor { size, format: FLOAT, channels: 1, flags }
}

fn make(descriptor: Descriptor) -> Result<usize, u32> {
    let mut array = 0;
    match unsafe { cuArray3DCreate_v2(&raw mut array, &raw const descriptor) } {
        0 => Ok(array),
        code => Err(code),
    }
}

#[test]
fn an_array_is_what_was_asked_for() {
    with_device(WELL);
    for descriptor in [
        of([10, 0, 0], 0),
        of([10, 20, 0], 0),
        of([1, 2, 3], 0),
        of([10, 0, 8], LAYERED),
        of([10, 20, 8], LAYERED),
        of([4, 4, 6], CUBEMAP),
        of([4, 4, 12], CUBEMAP | LAYERED),
    ] {
        let array = make(descriptor).unwrap_or_else(|code| panic!("{descriptor:?}: {code}"));
        let mut found = of([0; 3], 0);
        assert_eq!(unsafe { cuArray3DGetDescriptor_v2(&raw mut found, array) }, 0);
        assert_eq!(found, descriptor);
        assert_eq!((cuArrayDestroy(array), cuArrayDestroy(array)), (0, INVALID_HANDLE));
    }
}

#[test]
fn what_no_device_has_is_refused() {
    with_device(WELL);
    for descriptor in [
        of([0, 0, 0], 0),
        of([131_073, 0, 0], 0),
        of([10, 65_537, 0], 0),
        of([10, 0, 3], 0),
        of([10, 10, 16_385], 0),
        of([10, 0, 2049], LAYERED),
        of([10, 10, 0], LAYERED),
        of([4, 5, 6], CUBEMAP),
        of([4, 4, 7], CUBEMAP),
        of([4, 4, 7], CUBEMAP | LAYERED),
        of([4, 0, 0], 64),
        Descriptor { channels: 3, ..of([4, 0, 0], 0) },
        Descriptor { format: 4, ..of([4, 0, 0], 0) },
    ] {
        assert_eq!(make(descriptor), Err(INVALID_VALUE), "{descriptor:?}");
    }
}

#[test]
fn the_device_says_how_large_arrays_can_be() {
    with_device(WELL);
    for (attribute, expected) in [(21, 131_072), (23, 65_536), (25, 16_384), (29, 2048), (52, 32_768), (68, 2046)] {
        let mut value = -1;
        assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut value, attribute, WELL) }, 0);
        assert_eq!(value, expected, "attribute {attribute}");
    }
}

#[test]
fn flat_arrays_have_descriptions_of_their_own_and_all_end_with_their_context() {
    let _room = room();
    with_device(WELL);
    let (mut context, mut array) = (0, 0);
    let flat = Flat { size: [10, 20], format: FLOAT, channels: 2 };
    let mut found = Flat { size: [0; 2], format: 0, channels: 0 };
    unsafe {
        assert_eq!(cuCtxCreate_v2(&raw mut context, 0, WELL), 0);
        assert_eq!(cuArrayCreate_v2(&raw mut array, &raw const flat), 0);
        assert_eq!((cuArrayGetDescriptor_v2(&raw mut found, array), found), (0, flat));
        assert_eq!(cuArrayCreate_v2(&raw mut array, ptr::null()), INVALID_VALUE);
        let deep = make(of([1, 2, 3], 0)).expect("it fits");
        assert_eq!(cuArrayGetDescriptor_v2(&raw mut found, deep), INVALID_VALUE);
    }
    assert_eq!(cuCtxDestroy_v2(context), 0);
    assert_eq!(cuArrayDestroy(array), INVALID_HANDLE);
}
