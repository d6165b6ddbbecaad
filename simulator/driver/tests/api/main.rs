//! The C interface as a program sees it. The state is global to the process, so that each test that breaks a context has its
//! own device.

// Every pointer passed here points to a local variable, or is null if that is tested.
#![allow(unsafe_code)]

mod arrays;
mod blas;
mod built_graphs;
mod captures;
mod contexts;
mod convolutions;
mod cooperative;
mod described_products;
mod device_time;
mod dnn_functions;
mod dnn_reports;
mod dnn_statuses;
mod driver;
mod function_names;
mod graph_order;
mod graphs;
mod happens_before;
mod host_functions;
mod in_flight;
mod leaks;
mod lookup;
mod managed;
mod memory;
mod module_overrides;
mod pools;
mod preferences;
mod random;
mod records;
mod registered;
mod runtime;
mod single_products;
mod sticky;

use cuda::api::driver::{context, device, launch, memory as mem, module};
use cuda::objects::process;
use simulator::Config;
use std::ffi::{CStr, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Kernels that do one thing each.
const PTX: &CStr = c"
.version 9.0
.target sm_80
.address_size 64

.visible .global .align 4 .u32 counter = 7;

.visible .entry put(
    .param .u64 put_param_0,
    .param .u32 put_param_1
)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;

    ld.param.u64 %rd1, [put_param_0];
    ld.param.u32 %r1, [put_param_1];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}

.visible .entry narrow()
.maxntid 64, 1, 1
{
    ret;
}
";

const MEMORY: u64 = 64 << 20;

/// The devices, by what is done to them.
const WELL: i32 = 0;
const OTHER: i32 = 1;
const BROKEN: i32 = 2;
const BROKEN_BY_BLAS: i32 = 3;
const BROKEN_BY_RUNTIME: i32 = 4;
const SMALL: i32 = 5;
const BROKEN_BY_LINKED: i32 = 6;
const BROKEN_BY_RESULT: i32 = 7;
const BROKEN_BY_MANAGED: i32 = 8;
const CAPTURED: i32 = 9;
/// Its context ends.
const LEAKING: i32 = 11;
const WITH_HOST_FUNCTIONS: i32 = 10;

/// Makes the primary context of a device current, and returns its handle.
fn with_device(device: i32) -> usize {
    static CONFIGURED: Once = Once::new();
    CONFIGURED.call_once(|| {
        let checks = std::env::var("SNUFFER_SIM_CHECKS").unwrap_or("all".to_string()).parse().expect("checks");
        let config = Config { devices: 12, memory: MEMORY, checks, ..Config::default() };
        assert!(process::configure(config, process::Delivery::Late));
    });
    let mut handle = 0;
    assert_eq!(device::cuInit(0), 0);
    assert_eq!(unsafe { context::cuDevicePrimaryCtxRetain(&raw mut handle, device) }, 0);
    assert_eq!(context::cuCtxSetCurrent(handle), 0);
    handle
}

/// For a test that makes contexts: there are addresses for four besides those of the devices, so such tests run one at a time.
fn room() -> MutexGuard<'static, ()> {
    static ROOM: Mutex<()> = Mutex::new(());
    ROOM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `test` in a context of its own, which may be broken afterwards.
fn in_own_context(test: impl FnOnce()) {
    let _room = room();
    let mut own = 0;
    with_device(WELL);
    assert_eq!(unsafe { context::cuCtxCreate_v2(&raw mut own, 0, WELL) }, 0);
    test();
    context::cuCtxDestroy_v2(own);
}

fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(unsafe { mem::cuMemAllocAsync(&raw mut address, bytes, 0) }, 0);
    address
}

fn upload<T>(data: &[T]) -> u64 {
    let address = allocate(size_of_val(data));
    assert_eq!(unsafe { mem::cuMemcpyHtoDAsync_v2(address, data.as_ptr().cast(), size_of_val(data), 0) }, 0);
    address
}

fn download<T: Copy + Default>(address: u64, n: usize) -> Result<Vec<T>, u32> {
    let mut data = vec![T::default(); n];
    match unsafe { mem::cuMemcpyDtoHAsync_v2(data.as_mut_ptr().cast(), address, n * size_of::<T>(), 0) } {
        0 => Ok(data),
        code => Err(code),
    }
}

fn load(text: &CStr) -> Result<usize, u32> {
    let mut loaded = 0;
    match unsafe { module::cuModuleLoadData(&raw mut loaded, text.as_ptr().cast()) } {
        0 => Ok(loaded),
        code => Err(code),
    }
}

fn function(name: &CStr) -> usize {
    let mut function = 0;
    let module = load(PTX).expect("it is PTX");
    assert_eq!(unsafe { module::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) }, 0);
    function
}

fn start(function: usize, [grid, block]: [[u32; 3]; 2], shared: u32, values: *const *const c_void) -> u32 {
    let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
    unsafe { launch::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, 0, values, ptr::null()) }
}

/// A test in which a product of cuBLAS reads outside its matrix.
const INVALID_ADDRESS_TEST: &str = "blas::a_product_out_of_range_is_a_fault_that_comes_late";

/// What the library prints on the error stream in one of these tests, which runs in a process of its own.
fn said_in(test: &str) -> String {
    said_by(&mut this_program(), test)
}

/// As [`said_in`], with a variable in the environment.
fn said_in_with(test: &str, variable: &str, value: &Path) -> String {
    said_by(this_program().env(variable, value), test)
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("known"))
}

fn said_by(program: &mut Command, test: &str) -> String {
    let output = program.args([test, "--exact", "--nocapture"]).output().expect("it runs");
    assert!(output.status.success(), "{test} fails");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Stores a word with a kernel of one thread.
fn put(address: u64, value: u32) -> u32 {
    let values = [(&raw const address).cast(), (&raw const value).cast()];
    start(function(c"put"), [[1; 3]; 2], 0, values.as_ptr())
}
