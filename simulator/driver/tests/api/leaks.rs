//! A long-running program that destroys what it creates does not grow.

use crate::{WELL, load, said_in_with, start, with_device};
use cuda::api::driver::context::cuCtxSynchronize;
use cuda::api::driver::module::{cuModuleGetFunction, cuModuleUnload};
use cuda::api::driver::pinned::{cuMemAllocHost_v2, cuMemFreeHost};
use std::path::Path;
use std::ptr;

/// Set in the process of its own that the test needs: other tests would change what is measured.
const ALONE: &str = "SNUFFER_TEST_ALONE";

/// A kernel in a module without variables: freed memory is remembered for a while, to find its use.
const MODULE: &std::ffi::CStr = c".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

/// How many bytes of memory this process has.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    4096 * pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number")
}

fn load_launch_and_unload() {
    let (module, mut function) = (load(MODULE).expect("it is PTX"), 0);
    assert_eq!(unsafe { cuModuleGetFunction(&raw mut function, module, c"k".as_ptr()) }, 0);
    assert_eq!(start(function, [[1; 3]; 2], 0, ptr::null()), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(cuModuleUnload(module), 0);
}

/// Pinned memory that nobody writes to takes none of the machine's, however much it is.
#[test]
fn pinned_memory_takes_memory_when_it_is_written_and_is_no_more_than_the_machine_has() {
    if std::env::var_os(ALONE).is_none() {
        let test = "leaks::pinned_memory_takes_memory_when_it_is_written_and_is_no_more_than_the_machine_has";
        said_in_with(test, ALONE, Path::new("1"));
        return;
    }
    with_device(WELL);
    let (before, mut pinned, mut refused) = (resident(), ptr::null_mut(), ptr::null_mut());
    unsafe {
        assert_eq!(cuMemAllocHost_v2(&raw mut pinned, 1 << 30), 0);
        assert_eq!(cuMemAllocHost_v2(&raw mut refused, 1 << 39), 2);
    }
    assert!(resident() - before < 16 << 20, "{} bytes", resident() - before);
    assert_eq!(cuMemFreeHost(pinned), 0);
}

#[test]
fn a_module_that_was_launched_and_unloaded_takes_no_memory() {
    const ROUNDS: usize = 20_000;
    if std::env::var_os(ALONE).is_none() {
        said_in_with("leaks::a_module_that_was_launched_and_unloaded_takes_no_memory", ALONE, Path::new("1"));
        return;
    }
    with_device(WELL);
    // The first rounds only make room.
    (0..2_000).for_each(|_| load_launch_and_unload());
    let before = resident();
    (0..ROUNDS).for_each(|_| load_launch_and_unload());
    let grown = resident().saturating_sub(before);
    assert!(grown < 50 * ROUNDS, "{grown} bytes in {ROUNDS} rounds");
}
