//! The work of CUDA's libraries, which has no kernel: it is checked and ordered as one.

pub mod blas;
pub mod dnn;
pub mod element;
pub mod gemm;
pub mod generator;
pub mod philox;
pub mod product_description;

use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::reports::{device_time, report, trace};
use crate::objects::streams::happens_before::Key;
use device_record::Fault;
use simulator::{Device, jitter};

impl Driver {
    /// Submits the work of a library's function to a stream. It accesses the allocations at these addresses, which it reads, or writes
    /// where the flag is set. Its fault comes late, as a kernel's does.
    pub(crate) fn submit_library(
        &mut self,
        key: Key,
        name: &'static str,
        accesses: Vec<(u64, bool)>,
        mut work: impl FnMut(&mut Device) -> Result<(), Fault> + Send + 'static,
    ) -> Result<(), Code> {
        self.submit(key, move |driver, stream| {
            let Some(device) = driver.checked(stream.0)?.working() else { return Ok(()) };
            trace::record_library(name);
            jitter::next_launch();
            let done = device_time::during(|| work(device));
            for found in device.reports() {
                report::finding(&found.in_call(name));
            }
            done.or_else(|fault| driver.fault(stream.0, &fault.in_call(name)))?;
            let touched = accesses.iter().filter_map(|&(address, wrote)| driver.allocation_at(address, wrote));
            let touched: Vec<_> = touched.collect();
            driver.record_work(stream, &touched, name);
            Ok(())
        })
    }
}
