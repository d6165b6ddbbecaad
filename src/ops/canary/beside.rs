//! Accesses beside a buffer, which only the fence on the CPU notices. Without it they change nothing: a read is of no use, and a write
//! adds nothing to what is there.

use std::hint::black_box;
use std::ptr::without_provenance;
use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::{CpuStorage, Error, Result, Storage, Tensor};

/// Does the access of this name to the buffer of `x`, or to one that was freed, or to no buffer at all.
#[allow(unsafe_code, reason = "the access must be wrong")]
pub fn access(fault: &str, x: &Tensor) -> Result<()> {
    let (storage, _) = x.storage_and_layout();
    let Storage::Cpu(CpuStorage::F32(buffer)) = &*storage else {
        return Err(Error::Msg(format!("`{fault}` can be planted on the CPU only")));
    };
    let Some((how, place)) = fault.split_once(' ') else { return Err(Error::Msg(format!("`{fault}` is no access"))) };
    let first: *const f32 = match place {
        "after the end" => buffer.as_ptr().wrapping_add(buffer.len()),
        "before the start" => buffer.as_ptr().wrapping_sub(1),
        "after free" => {
            let freed = black_box(buffer.clone());
            let first = freed.as_ptr();
            drop(freed);
            first
        }
        "near the null pointer" => without_provenance(64),
        _ => return Err(Error::Msg(format!("the canary has no place `{place}`; see src/ops/canary/beside.rs"))),
    };
    if how == "read" {
        // SAFETY: it is wrong on purpose. The system's allocator has bytes of its own there.
        black_box(unsafe { black_box(first).read_volatile() });
    } else {
        // SAFETY: it is wrong on purpose, as above, and changes no byte.
        let cell = unsafe { AtomicU32::from_ptr(first.cast_mut().cast()) };
        cell.fetch_add(black_box(0), Ordering::Relaxed);
    }
    Ok(())
}
