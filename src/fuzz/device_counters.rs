//! The counters of a simulated device, which libFuzzer watches besides the compiler's own.

use std::ffi::c_void;
use std::ptr::addr_of_mut;

use anyhow::Context;
use libloading::os::unix::Library;

/// The number of counters: a byte per class of grids and branch edge of each kernel.
const COUNTERS: usize = 1 << 17;

// libFuzzer finds it by the name of its section, reads it after each input, and clears it before the next.
#[allow(unsafe_code, reason = "the section is libFuzzer's")]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static mut DEVICE_COUNTERS: [u8; COUNTERS] = [0; COUNTERS];

/// Makes the simulated device count in the bytes that libFuzzer watches.
pub fn watch_device() -> anyhow::Result<()> {
    const COUNT_IN: &[u8] = b"snuffer_sim_count_in\0";
    /// Only if it is loaded already.
    const NO_LOAD: i32 = 4;
    type CountIn = unsafe extern "C" fn(*mut c_void, usize);
    #[allow(unsafe_code, reason = "the function of this name has this type")]
    // SAFETY: as above; the counters live as long as the process.
    unsafe {
        let this = Library::this();
        match this.get::<CountIn>(COUNT_IN) {
            Ok(count_in) => count_in(addr_of_mut!(DEVICE_COUNTERS).cast(), COUNTERS),
            Err(_) => {
                let driver = Library::open(Some("libcuda.so.1"), NO_LOAD | libloading::os::unix::RTLD_LAZY);
                let driver = driver.context("the simulated device is not loaded")?;
                let count_in = driver.get::<CountIn>(COUNT_IN).context("this driver is no simulated device")?;
                count_in(addr_of_mut!(DEVICE_COUNTERS).cast(), COUNTERS);
            }
        }
    }
    Ok(())
}
