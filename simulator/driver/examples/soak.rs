//! Serves requests as a server on a GPU does, from four threads: `soak SECONDS`. A request destroys all that it makes, so the memory of
//! the process must not grow. Exits with 1 if it does.

// Every pointer passed here points to a local variable.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::process::ExitCode;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cuda::api::driver::{context, device, launch, memory, module, pinned, stream};

const THREADS: usize = 4;
/// How many numbers a request doubles.
const NUMBERS: usize = 1024;
/// How often the memory is measured. The first measurement is the one to compare with: by then everything is in use.
const MEASUREMENTS: u32 = 10;
/// The simulated device remembers what was freed, to find its use: up to 60 MB.
const MAY_GROW: usize = 100 << 20;

const DOUBLE: &CStr = c".version 8.0\n.target sm_80\n.address_size 64\n\
.visible .entry twice(.param .u64 numbers)\n{\n.reg .b32 %r<6>;\n.reg .b64 %rd<4>;\n\
ld.param.u64 %rd1, [numbers];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n\
mad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
ld.global.u32 %r5, [%rd3];\nshl.b32 %r5, %r5, 1;\nst.global.u32 [%rd3], %r5;\nret;\n}\n";

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(60);
    let (served, mut primary, mut sizes) = (AtomicUsize::new(0), 0, Vec::new());
    is_ok(device::cuInit(0));
    is_ok(unsafe { context::cuDevicePrimaryCtxRetain(&raw mut primary, 0) });
    let end = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                is_ok(context::cuCtxSetCurrent(primary));
                while Instant::now() < end {
                    serve_with_a_new_module(100);
                    served.fetch_add(100, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..MEASUREMENTS {
            std::thread::sleep(Duration::from_secs(seconds) / MEASUREMENTS);
            sizes.push(resident());
            println!("{} requests, {} MB", served.load(Ordering::Relaxed), sizes[sizes.len() - 1] >> 20);
        }
    });
    let grown = sizes.iter().max().copied().unwrap_or(0) - sizes[0];
    println!("the memory grew by {} MB", grown >> 20);
    if grown > MAY_GROW { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Serves requests with a module that is loaded for them.
fn serve_with_a_new_module(requests: usize) {
    let (mut loaded, mut function) = (0, 0);
    unsafe {
        is_ok(module::cuModuleLoadData(&raw mut loaded, DOUBLE.as_ptr().cast()));
        is_ok(module::cuModuleGetFunction(&raw mut function, loaded, c"twice".as_ptr()));
        (0..requests).for_each(|_| serve(function));
        is_ok(module::cuModuleUnload(loaded));
    }
}

/// Doubles numbers in a stream of its own, from pinned memory and back.
unsafe fn serve(function: usize) {
    const BYTES: usize = 4 * NUMBERS;
    let (mut own, mut done, mut numbers, mut pinned) = (0, 0, 0_u64, ptr::null_mut::<c_void>());
    unsafe {
        is_ok(stream::cuStreamCreate(&raw mut own, 1));
        is_ok(stream::cuEventCreate(&raw mut done, 2));
        is_ok(memory::cuMemAllocAsync(&raw mut numbers, BYTES, own));
        is_ok(pinned::cuMemAllocHost_v2(&raw mut pinned, BYTES));
        let host = std::slice::from_raw_parts_mut(pinned.cast::<u32>(), NUMBERS);
        host.fill(21);
        is_ok(memory::cuMemcpyHtoDAsync_v2(numbers, pinned, BYTES, own));
        let params = [(&raw mut numbers).cast::<c_void>()];
        is_ok(launch::cuLaunchKernel(
            function,
            NUMBERS as u32 / 256,
            1,
            1,
            256,
            1,
            1,
            0,
            own,
            params.as_ptr().cast(),
            ptr::null(),
        ));
        is_ok(memory::cuMemcpyDtoHAsync_v2(pinned, numbers, BYTES, own));
        is_ok(stream::cuEventRecord(done, own));
        is_ok(stream::cuEventSynchronize(done));
        assert!(host.iter().all(|&number| number == 42), "a request got another answer");
        is_ok(memory::cuMemFreeAsync(numbers, own));
        is_ok(stream::cuStreamDestroy_v2(own));
        is_ok(stream::cuEventDestroy_v2(done));
        is_ok(pinned::cuMemFreeHost(pinned));
    }
}

fn is_ok(code: u32) {
    assert_eq!(code, 0, "the driver returned an error");
}

/// How many bytes of memory this process has.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    4096 * pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number")
}
