//! Cooperative launches, whose blocks meet: how large they may be, and that the forms of the call agree.

use crate::{CAPTURED, WELL, download, load, upload, with_device};
use cuda::api::driver::{device::*, graph::*, launch::*, module::*, occupancy::*};
use std::ffi::{CStr, c_void};
use std::ptr;

/// Each block of one thread adds 1 to the word, waits for all others, and adds what it then finds to the next word.
pub const PTX: &CStr = c"
.version 9.0
.target sm_80
.address_size 64

.visible .entry meet(.param .u64 words)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, %envreg2;
    mov.u32 %r2, %envreg1;
    mov.b64 %rd2, {%r1, %r2};
    atom.global.add.u32 %r3, [%rd1], 1;
    mov.u32 %r4, %nctaid.x;
    mov.u32 %r5, %ctaid.x;
    setp.eq.u32 %p1, %r5, 0;
    sub.u32 %r6, 0x80000001, %r4;
    selp.b32 %r7, %r6, 1, %p1;
    atom.add.release.gpu.u32 %r8, [%rd2+4], %r7;
ASK:
    ld.acquire.gpu.u32 %r9, [%rd2+4];
    xor.b32 %r10, %r8, %r9;
    setp.gt.s32 %p2, %r10, -1;
    @%p2 bra ASK;
    ld.global.u32 %r11, [%rd1];
    atom.global.add.u32 %r12, [%rd1+4], %r11;
    ret;
}
";

const TOO_LARGE: u32 = 720;

fn meet() -> usize {
    let (module, mut function) = (load(PTX).expect("it is PTX"), 0);
    assert_eq!(unsafe { cuModuleGetFunction(&raw mut function, module, c"meet".as_ptr()) }, 0);
    function
}

fn start(blocks: u32, threads: u32, words: u64, stream: usize) -> u32 {
    let values: [*const c_void; 1] = [(&raw const words).cast()];
    unsafe { cuLaunchCooperativeKernel(meet(), blocks, 1, 1, threads, 1, 1, 0, stream, values.as_ptr()) }
}

#[test]
fn blocks_of_a_cooperative_launch_meet() {
    with_device(WELL);
    let words = upload(&[0_u32; 2]);
    assert_eq!(start(5, 1, words, 0), 0);
    assert_eq!(download(words, 2), Ok(vec![5_u32, 25]));
    let mut has = 0;
    assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut has, 95, WELL) }, 0);
    assert_eq!(has, 1);
}

#[test]
fn a_grid_that_the_device_cannot_hold_at_once_is_refused() {
    with_device(WELL);
    let (words, mut each, mut processors) = (upload(&[0_u32; 2]), 0, 0);
    let threads = 512;
    assert_eq!(unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut each, meet(), threads, 0) }, 0);
    assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut processors, 16, WELL) }, 0);
    let most = (each * processors) as u32;
    assert_eq!(start(most + 1, threads as u32, words, 0), TOO_LARGE);
    assert_eq!(download(words, 2), Ok(vec![0_u32; 2]));
    assert_eq!(start(most * 2, 256, words, 0), 0, "smaller blocks, and as many threads");
}

#[test]
fn an_attribute_makes_a_launch_cooperative() {
    with_device(WELL);
    let words = upload(&[0_u32; 2]);
    let values: [*const c_void; 1] = [(&raw const words).cast()];
    let attribute = |id, value| Attribute { id, value: [value, 0, 0, 0, 0, 0, 0, 0] };
    let launch = |attributes: &[Attribute], blocks| {
        let (grid, block, count) = ([blocks, 1, 1], [1; 3], attributes.len() as u32);
        let configuration = Configuration { grid, block, shared: 0, stream: 0, attributes: attributes.as_ptr(), count };
        unsafe { cuLaunchKernelEx(&raw const configuration, meet(), values.as_ptr(), ptr::null()) }
    };
    assert_eq!(launch(&[attribute(0, 7), attribute(2, 1)], 3), 0);
    assert_eq!(download(words, 2), Ok(vec![3_u32, 9]));
    assert_eq!(launch(&[attribute(2, 1)], 1000), TOO_LARGE);
    assert_eq!(launch(&[attribute(4, 1)], 1), 801, "clusters");
}

#[test]
fn a_cooperative_launch_can_be_captured() {
    with_device(CAPTURED);
    let words = upload(&[0_u32; 2]);
    let stream = crate::graphs::begin(crate::graphs::THREAD_LOCAL);
    assert_eq!(start(2, 1, words, stream), 0);
    let executable =
        crate::graphs::instantiate(crate::graphs::end(stream).expect("it is valid"), 0).expect("it is valid");
    assert_eq!(cuGraphLaunch(executable, stream), 0);
    assert_eq!(download(words, 2), Ok(vec![2_u32, 4]));
}
