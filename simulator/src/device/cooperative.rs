//! Cooperative launches: the memory in which the blocks of a grid meet.

use super::{Device, FunctionId, unsupported};
use crate::fault::Fault;
use crate::grid::Launch;
use crate::warp::GridBarrier;

impl Device {
    /// Runs a kernel whose blocks may wait for each other, to its end or first fault. The driver has checked that all of them fit.
    pub fn launch_cooperative(&mut self, function: FunctionId, launch: &Launch) -> Result<(), Fault> {
        let workspace = self.workspace.or_else(|| self.memory.allocate_for_system(GridBarrier::WORKSPACE));
        self.workspace = workspace;
        let fresh = workspace.and_then(|address| self.memory.bytes_mut(address, GridBarrier::WORKSPACE).ok());
        let Some(fresh) = fresh else {
            let name = self.entry(function).name.clone();
            return Err(unsupported(name, "a cooperative launch beside so many allocations".to_string()));
        };
        fresh.fill(0);
        self.run(function, launch, workspace)
    }
}
