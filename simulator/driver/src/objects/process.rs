//! The driver of this process, which every call locks.

use super::codes::{self, Code};
use super::environment::{self, Settings};
use super::state::Driver;
use super::{coverage, report};
use simulator::Config;
use std::ffi::c_int;
use std::sync::{Mutex, OnceLock};

pub use super::environment::Delivery;

static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();

/// Configures the driver instead of the environment. Returns false if a function of the library was called before.
pub fn configure(config: Config, delivery: Delivery) -> bool {
    DRIVER.set(Mutex::new(Driver::new(Settings::of(config, delivery), false))).is_ok()
}

/// Locks the driver and runs `f`, the body of the CUDA function `name`, unless that call must fail.
pub(crate) fn call(name: &'static str, f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    let driver = DRIVER.get_or_init(|| {
        let settings = environment::settings(|name| std::env::var(name).ok());
        let sound = settings.clone().unwrap_or_else(|wrong| {
            report::print(&format!("snuffer-sim: {wrong}"));
            Settings::of(Config { devices: 0, ..Config::default() }, Delivery::Late)
        });
        // SAFETY: the function is never unloaded, as the library is not.
        unsafe { atexit(record_coverage) };
        Mutex::new(Driver::new(sound, settings.is_err()))
    });
    let mut driver = driver.lock().expect("a panic under the lock ends the process");
    if let Some(injection) = &mut driver.injection
        && injection.fails(name)
    {
        return injection.code;
    }
    driver.calling = name;
    match f(&mut driver) {
        Ok(()) => codes::SUCCESS,
        Err(code) => code,
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Records what every device in use executed, unless the driver is busy.
extern "C" fn record_coverage() {
    if let Some(driver) = DRIVER.get().and_then(|driver| driver.try_lock().ok()) {
        driver.contexts.iter().flatten().for_each(|context| coverage::record(&context.device));
    }
}
