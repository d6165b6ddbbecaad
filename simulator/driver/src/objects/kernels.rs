//! Launches of kernels, and their attributes.

use super::Driver;
use crate::objects::codes::{COOPERATIVE_LAUNCH_TOO_LARGE, Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::context::Health;
use crate::objects::function::Function;
use crate::objects::graph::Task;
use crate::objects::happens_before::Key;
use crate::objects::{counters, device_time, report, trace};
use simulator::{Device, Entry, FunctionId, Launch};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::{ptr, slice};

/// The most blocks of a grid and threads of a block, by dimension, and the most threads of a block.
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const BLOCK: [u32; 3] = [1024, 1024, 64];
const THREADS: u32 = 1024;

/// The number in `CUdevice_attribute` of how many multiprocessors a device has.
const MULTIPROCESSORS: c_uint = 16;

/// The size of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether blocks may wait for each other. Then all of them must fit on the device at once.
    pub is_cooperative: bool,
}

/// A kernel with all that a launch of it needs.
pub struct KernelNode {
    pub(crate) function: usize,
    pub(crate) context: usize,
    pub(crate) size: Size,
    /// The addresses of its parameters, in `launch`.
    pub(crate) values: Vec<usize>,
    id: FunctionId,
    launch: Launch,
}

/// Whether a device accepts a launch of this size.
pub(crate) fn fits(grid: [u32; 3], block: [u32; 3]) -> bool {
    let within = |size: [u32; 3], most: [u32; 3]| size.iter().zip(most).all(|(&n, most)| (1..=most).contains(&n));
    within(grid, GRID) && within(block, BLOCK) && block.iter().product::<u32>() <= THREADS
}

/// The bytes of a kernel's parameters, laid out for it.
///
/// # Safety
/// `values` is null or holds, for each parameter, null or the address of as many bytes as the parameter has.
unsafe fn parameters(entry: &Entry, values: *const *const c_void) -> Result<Vec<u8>, Code> {
    let mut bytes = vec![0; entry.param_bytes as usize];
    if values.is_null() {
        return if entry.params.is_empty() { Ok(bytes) } else { Err(INVALID_VALUE) };
    }
    // SAFETY: the caller's promise.
    let values = unsafe { slice::from_raw_parts(values, entry.params.len()) };
    for (value, &(offset, size)) in values.iter().zip(&entry.params) {
        if value.is_null() {
            return Err(INVALID_VALUE);
        }
        let to = &mut bytes[offset as usize..][..size as usize];
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(value.cast(), to.as_mut_ptr(), to.len()) };
    }
    Ok(bytes)
}

impl Driver {
    fn kernel(&self, function: usize) -> Result<&Function, Code> {
        self.functions.get(function).ok_or(INVALID_HANDLE)
    }

    fn entry(&mut self, function: usize) -> Result<&Entry, Code> {
        let &Function { context, id, .. } = self.kernel(function)?;
        Ok(self.context(context)?.device.entry(id))
    }

    /// Runs a kernel, unless its context has faulted.
    ///
    /// # Safety
    /// That of [`parameters`], for the kernel's parameters.
    pub(crate) unsafe fn launch(
        &mut self,
        function: usize,
        size: Size,
        stream: usize,
        values: *const *const c_void,
    ) -> Result<(), Code> {
        let context = self.kernel(function)?.context;
        if self.stream_context(stream)? != context {
            return Err(INVALID_HANDLE);
        }
        self.context_of(stream)?;
        // SAFETY: the caller's promise.
        let kernel = unsafe { self.kernel_node(function, size, values)? };
        match self.valid_capture((context, stream))? {
            Some(capture) => capture.add((context, stream), Task::Kernel(Arc::new(kernel))),
            None => self.run_in_order((context, stream), move |driver, stream| driver.execute(&kernel, stream)),
        }
    }

    /// A kernel as it would be launched.
    ///
    /// # Safety
    /// That of [`parameters`], for the kernel's parameters.
    pub(crate) unsafe fn kernel_node(
        &mut self,
        function: usize,
        size: Size,
        values: *const *const c_void,
    ) -> Result<KernelNode, Code> {
        let &Function { context, id, dynamic_shared } = self.kernel(function)?;
        let Size { grid, block, shared, is_cooperative } = size;
        let entry = self.entry(function)?;
        let most = entry.max_threads.unwrap_or(THREADS);
        if !fits(grid, block) || block.iter().product::<u32>() > most || shared > dynamic_shared {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        let params = unsafe { parameters(entry, values)? };
        let values = entry.params.iter().map(|&(at, _)| params[at as usize..].as_ptr().expose_provenance()).collect();
        if is_cooperative && !self.fit_at_once(function, size)? {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(KernelNode { function, context, size, values, id, launch: Launch { grid, block, shared, params } })
    }

    /// Whether the device can hold all blocks of a grid at once.
    fn fit_at_once(&mut self, function: usize, Size { grid, block, shared, .. }: Size) -> Result<bool, Code> {
        let threads = block.iter().product::<u32>() as c_int;
        let each = self.blocks_at_once(function, threads, shared as usize)? as u64;
        let blocks = grid.iter().fold(1_u64, |blocks, &size| blocks.saturating_mul(size.into()));
        Ok(blocks <= each * self.attribute(MULTIPROCESSORS)? as u64)
    }

    pub(super) fn execute(&mut self, kernel: &KernelNode, stream: Key) -> Result<(), Code> {
        let &KernelNode { id, ref launch, size: Size { is_cooperative, .. }, .. } = kernel;
        let context = self.checked(stream.0)?;
        let (is_working, ordinal) = (context.working().is_some(), context.ordinal);
        let in_machine = self.visible[ordinal];
        if is_working && self.wedge.as_ref().is_some_and(|it| it.holds(in_machine)) {
            self.context(stream.0)?.health = Health::Hanging;
        }
        let Some(device) = self.context(stream.0)?.working() else { return Ok(()) };
        trace::record_launch(device, id);
        let run = if is_cooperative { Device::launch_cooperative } else { Device::launch };
        let result = device_time::during(|| run(device, id, launch));
        report::output(&device.printed());
        device.reports().iter().for_each(report::finding);
        counters::count(device, id, launch.grid);
        let (touched, name) = (device.touched(), device.entry(id).name.clone());
        self.record_work(stream, &touched, &name);
        match result {
            Ok(()) => Ok(()),
            Err(fault) => self.fault(stream.0, &fault),
        }
    }

    /// An attribute of a kernel, by its number in `CUfunction_attribute`. Registers and local memory are nominal: PTX does
    /// not determine them.
    pub(crate) fn function_attribute(&mut self, function: usize, attribute: c_uint) -> Result<u32, Code> {
        let (major, minor) = self.config.capability;
        let dynamic_shared = self.kernel(function)?.dynamic_shared;
        let entry = self.entry(function)?;
        match attribute {
            0 => Ok(entry.max_threads.unwrap_or(THREADS)),
            1 => Ok(entry.static_shared),
            4 => Ok(32),
            5 | 6 => Ok(10 * major + minor),
            8 => Ok(dynamic_shared),
            2 | 3 | 7 | 9..=15 => Ok(0),
            _ => Err(INVALID_VALUE),
        }
    }

    /// Takes a hint for a kernel and does nothing with it.
    pub(crate) fn take_hint(&mut self, function: usize, is_valid: bool) -> Result<(), Code> {
        let context = self.kernel(function)?.context;
        self.checked(context)?;
        if is_valid { Ok(()) } else { Err(INVALID_VALUE) }
    }

    /// Sets the most dynamic shared memory of a kernel. Other attributes are hints.
    pub(crate) fn set_function_attribute(
        &mut self,
        function: usize,
        attribute: c_uint,
        value: c_int,
    ) -> Result<(), Code> {
        let most = self.most_shared().saturating_sub(self.entry(function)?.static_shared);
        match (attribute, u32::try_from(value)) {
            (8, Ok(bytes)) if bytes <= most => {
                self.functions.get_mut(function).ok_or(INVALID_HANDLE)?.dynamic_shared = bytes;
                Ok(())
            }
            (9, _) => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    }
}
