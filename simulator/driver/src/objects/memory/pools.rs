//! Memory of pools.

use crate::objects::codes::{Code, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY};
use crate::objects::driver::Driver;
use crate::objects::memory::pool::Pool;
use crate::objects::reports::report;

impl Driver {
    /// The handle of the pool that a device has from the start.
    pub(crate) fn default_pool(&mut self, ordinal: usize) -> usize {
        if let Some(&pool) = self.default_pools.get(&ordinal) {
            return pool;
        }
        let pool = self.pools.insert(Pool::new(ordinal, 0));
        self.default_pools.insert(ordinal, pool);
        pool
    }

    /// The handle of the pool that a device allocates of when no other is named.
    pub(crate) fn current_pool(&mut self, ordinal: usize) -> usize {
        match self.chosen_pools.get(&ordinal) {
            Some(&pool) if self.pools.get(pool).is_some() => pool,
            _ => self.default_pool(ordinal),
        }
    }

    /// Allocates in stream order: of this pool, or else of the current one of the stream's device.
    pub(crate) fn allocate_of_pool(&mut self, pool: Option<usize>, bytes: usize, stream: usize) -> Result<u64, Code> {
        let ordinal = self.context_of(stream)?.ordinal;
        let handle = pool.unwrap_or_else(|| self.current_pool(ordinal));
        let pool = self.pools.get(handle).ok_or(INVALID_VALUE)?;
        if pool.ordinal != ordinal {
            report::unsupported("memory of a pool of another device than the stream's");
            return Err(NOT_SUPPORTED);
        }
        if !pool.has(bytes as u64) {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.allocate(bytes, stream)?;
        self.in_order.insert(address, (handle, bytes as u64));
        if let Some(pool) = self.pools.get_mut(handle) {
            pool.used += bytes as u64;
            pool.high = pool.high.max(pool.used);
        }
        Ok(address)
    }

    /// Forgets memory that is freed. Returns whether it was allocated in stream order.
    pub(crate) fn leave_pool(&mut self, address: u64) -> bool {
        let Some((pool, bytes)) = self.in_order.remove(&address) else { return false };
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.used -= bytes;
        }
        true
    }
}
