//! Launches of kernels, and their attributes.

pub mod kernel_node;
pub mod multiprocessor;

use crate::objects::codes::{self, COOPERATIVE_LAUNCH_TOO_LARGE, Code, INVALID_HANDLE, INVALID_VALUE, LAUNCH_TIMEOUT};
use crate::objects::contexts::context::Health;
use crate::objects::driver::{Driver, Task};
use crate::objects::kernels::kernel_node::{KernelNode, Size, THREADS, fits, parameters};
use crate::objects::kernels::multiprocessor::{SHARED_OF_DRIVER, WARP};
use crate::objects::modules::module::Function;
use crate::objects::reports::{counters, device_time, report, trace};
use crate::objects::streams::happens_before::Key;
use simulator::{Device, Entry, Launch};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

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
        let key = self.key(stream)?;
        // SAFETY: the caller's promise.
        let kernel = unsafe { self.kernel_node(function, size, values)? };
        match self.valid_capture(key)? {
            Some(capture) => capture.add(key, Task::Kernel(Arc::new(kernel))),
            None => self.run_in_order(key, move |driver, stream| driver.execute(&kernel, stream)),
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
        Ok(blocks <= each * self.attribute(multiprocessor::COUNT)? as u64)
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
            Err(fault) if self.config.hardware && codes::of(fault.kind) == LAUNCH_TIMEOUT => {
                self.context(stream.0)?.health = Health::Hanging;
                Ok(())
            }
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

    /// The number of blocks of `threads` threads and `shared` bytes of dynamic shared memory that a multiprocessor holds.
    pub(crate) fn blocks_at_once(&mut self, function: usize, threads: c_int, shared: usize) -> Result<usize, Code> {
        let most = self.function_attribute(function, 0)? as usize;
        let threads = usize::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(INVALID_VALUE)?;
        let shared = shared.saturating_add(self.function_attribute(function, 1)? as usize);
        if threads > most || shared > self.most_shared() as usize {
            return Ok(0);
        }
        let has = |attribute| self.attribute(attribute).map(|value| value as usize);
        let by_threads = has(multiprocessor::THREADS)? / threads.next_multiple_of(WARP);
        Ok(by_threads.min(has(multiprocessor::SHARED)? / (shared + SHARED_OF_DRIVER)).min(has(multiprocessor::BLOCKS)?))
    }
}
