//! Measures the memory that a repeated call leaves behind.

use candle_core::{Device, Result};

use super::effort;
use crate::case::Repeat;
use crate::outcome::Growth;

/// Growth of fewer bytes for each call does not count: a queue of another thread may have taken more room.
const NOISE: u64 = 8;

/// Makes `call` once less than `repeat` says. The first third only fills caches. Memory that grows in both of the others keeps growing.
pub fn of(device: &Device, repeat: Repeat, mut call: impl FnMut() -> Result<()>) -> Result<Growth> {
    let calls = repeat.times() - 1;
    let (first, last) = (calls / 3, calls - calls / 3);
    let mut seen = Vec::new();
    effort::counting(|| -> Result<()> {
        for made in 1..=calls {
            call()?;
            if [first, last, calls].contains(&made) {
                seen.push((made, InUse::now(device)?));
            }
        }
        Ok(())
    })?;
    let least = |bytes: fn(&InUse) -> i64| {
        let growth = |pair: &[(u32, InUse)]| {
            let [(from, before), (to, after)] = pair else { return 0 };
            (bytes(after) - bytes(before)) / i64::from(to - from)
        };
        let least = seen.windows(2).map(growth).min().unwrap_or(0);
        u64::try_from(least).ok().filter(|&bytes| bytes >= NOISE).unwrap_or(0)
    };
    Ok(Growth { host: least(|in_use| in_use.host), device: least(|in_use| in_use.device) })
}

/// Memory in use, in bytes, beside what was in use before the first call.
struct InUse {
    host: i64,
    device: i64,
}

impl InUse {
    fn now(device: &Device) -> Result<Self> {
        // Memory is freed in the order of a stream.
        device.synchronize()?;
        Ok(Self { host: effort::live(), device: on(device)? })
    }
}

/// The memory of a GPU that is in use.
#[cfg(feature = "cuda")]
fn on(device: &Device) -> Result<i64> {
    let Device::Cuda(cuda) = device else { return Ok(0) };
    let (free, total) = cuda.cuda_stream().context().mem_get_info().map_err(candle_core::Error::wrap)?;
    Ok(total as i64 - free as i64)
}

/// The CPU's memory is the host's.
#[cfg(not(feature = "cuda"))]
#[allow(clippy::unnecessary_wraps, reason = "as with CUDA")]
fn on(_: &Device) -> Result<i64> {
    Ok(0)
}
