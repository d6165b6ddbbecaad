//! Pools of memory.

use super::managed::Location;
use crate::api::put;
use crate::objects::codes::{Code, INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::memory::pool::Pool;
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_int, c_uint, c_void};

/// What a pool is to be: `CUmemPoolProps`.
#[repr(C)]
#[derive(Debug)]
pub struct Properties {
    /// 1, for memory that does not move.
    pub kind: c_uint,
    /// How it can be shared with other processes: 0 for not at all.
    pub shared: c_uint,
    /// Where it is.
    pub location: Location,
    /// For another system.
    pub security: *const c_void,
    /// The most bytes, or 0.
    pub most: usize,
    /// How it is used, and what is reserved.
    pub rest: [u8; 56],
}

/// Who may access a pool, and how: `CUmemAccessDesc`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Who.
    pub location: Location,
    /// 0 for not at all, 1 to read, 3 to read and write.
    pub how: c_uint,
}

const PINNED: c_uint = 1;
const DEVICE: c_uint = 1;
const READ_AND_WRITE: c_uint = 3;

/// Makes a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolCreate(pool: *mut usize, properties: *const Properties) -> Code {
    call("cuMemPoolCreate", |driver| {
        if properties.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and hence the caller's promise.
        let Properties { kind, shared, location, most, .. } = unsafe { &*properties };
        if *kind != PINNED {
            return Err(INVALID_VALUE);
        }
        if *shared != 0 || location.kind != DEVICE {
            report::unsupported("a pool of the host's memory, or one that processes share");
            return Err(NOT_SUPPORTED);
        }
        let ordinal = driver.device(location.id)?;
        // SAFETY: the caller's promise.
        unsafe { put(pool, driver.pools.insert(Pool::new(ordinal, *most as u64))) }
    })
}

/// Destroys a pool. What was allocated of it stays.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolDestroy(pool: usize) -> Code {
    call("cuMemPoolDestroy", |driver| {
        if driver.default_pools.values().any(|&default| default == pool) {
            return Err(INVALID_VALUE);
        }
        driver.pools.remove(pool).map(drop).ok_or(INVALID_VALUE)
    })
}

/// The pool that a device has from the start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDefaultMemPool(pool: *mut usize, device: c_int) -> Code {
    call("cuDeviceGetDefaultMemPool", |driver| {
        let ordinal = driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(pool, driver.default_pool(ordinal)) }
    })
}

/// The pool that a device allocates of when no other is named.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetMemPool(pool: *mut usize, device: c_int) -> Code {
    call("cuDeviceGetMemPool", |driver| {
        let ordinal = driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(pool, driver.current_pool(ordinal)) }
    })
}

/// Chooses it.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetMemPool(device: c_int, pool: usize) -> Code {
    call("cuDeviceSetMemPool", |driver| {
        let ordinal = driver.device(device)?;
        if driver.pools.get(pool).ok_or(INVALID_VALUE)?.ordinal != ordinal {
            return Err(INVALID_DEVICE);
        }
        driver.chosen_pools.insert(ordinal, pool);
        Ok(())
    })
}

/// Allocates of a pool, in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: usize, stream: usize) -> Code {
    call("cuMemAllocFromPoolAsync", |driver| {
        let allocated = driver.allocate_of_pool(Some(pool), bytes, stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Gives unused memory back. A pool has none.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPoolTrimTo(pool: usize, _bytes: usize) -> Code {
    call("cuMemPoolTrimTo", |driver| driver.pools.get(pool).map(drop).ok_or(INVALID_VALUE))
}

/// An attribute of a pool: the first three are numbers of 4 bytes, the others of 8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAttribute(pool: usize, attribute: c_uint, value: *mut c_void) -> Code {
    call("cuMemPoolGetAttribute", |driver| {
        let pool = driver.pools.get(pool).ok_or(INVALID_VALUE)?;
        let found = match attribute {
            1..=4 => pool.settings[attribute as usize - 1],
            // What is reserved, and what is used: the same, since nothing is kept.
            5 | 7 => pool.used,
            6 | 8 => pool.high,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: the caller's promise.
        unsafe { if attribute <= 3 { put(value.cast::<u32>(), found as u32) } else { put(value.cast::<u64>(), found) } }
    })
}

/// Sets an attribute of a pool. The most that was ever used can only be forgotten.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAttribute(pool: usize, attribute: c_uint, value: *const c_void) -> Code {
    call("cuMemPoolSetAttribute", |driver| {
        let pool = driver.pools.get_mut(pool).filter(|_| !value.is_null()).ok_or(INVALID_VALUE)?;
        // SAFETY: not null, and hence the caller's promise.
        let new =
            unsafe { if attribute <= 3 { u64::from(value.cast::<u32>().read()) } else { value.cast::<u64>().read() } };
        match (attribute, new) {
            (1..=4, _) => pool.settings[attribute as usize - 1] = new,
            (6 | 8, 0) => pool.high = pool.used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    })
}

/// Lets devices access a pool: its own always may, and no other can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolSetAccess(pool: usize, access: *const Access, count: usize) -> Code {
    call("cuMemPoolSetAccess", |driver| {
        let ordinal = driver.pools.get(pool).ok_or(INVALID_VALUE)?.ordinal;
        for at in 0..count {
            // SAFETY: the caller's promise.
            let Access { location, how } = unsafe { access.add(at).read() };
            if location.kind != DEVICE || driver.device(location.id)? != ordinal {
                return Err(INVALID_DEVICE);
            }
            if how != READ_AND_WRITE {
                return Err(INVALID_VALUE);
            }
        }
        Ok(())
    })
}

/// How a device may access a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemPoolGetAccess(how: *mut c_uint, pool: usize, location: *const Location) -> Code {
    call("cuMemPoolGetAccess", |driver| {
        let ordinal = driver.pools.get(pool).filter(|_| !location.is_null()).ok_or(INVALID_VALUE)?.ordinal;
        // SAFETY: not null, and hence the caller's promise.
        let Location { kind, id } = unsafe { location.read() };
        let is_own = kind == DEVICE && driver.device(id)? == ordinal;
        // SAFETY: the caller's promise.
        unsafe { put(how, if is_own { READ_AND_WRITE } else { 0 }) }
    })
}
