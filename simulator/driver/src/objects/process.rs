//! The driver of this process, which every call locks.

use crate::objects::codes::{self, Code};
use crate::objects::driver::Driver;
use crate::objects::reports::report;
use crate::objects::settings::{self, Settings};
use simulator::{Config, Effort};
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, OnceLock};

pub use crate::objects::settings::Delivery;

static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();

/// Configures the driver instead of the environment. Returns false if a function of the library was called before.
pub fn configure(config: Config, delivery: Delivery) -> bool {
    DRIVER.set(Mutex::new(Driver::new(Settings::of(config, delivery), false))).is_ok()
}

/// Locks the driver and runs `f`, the body of the CUDA function `name`, unless that call must fail. If it has to wait for functions of
/// the host, it runs again after them; before, it must not have changed anything.
pub(crate) fn call(name: &'static str, mut f: impl FnMut(&mut Driver) -> Result<(), Code>) -> Code {
    DRIVER.get_or_init(|| {
        let settings = settings::settings(|name| std::env::var(name).ok());
        let sound = settings.clone().unwrap_or_else(|wrong| {
            report::print(&format!("snuffer-sim: {wrong}"));
            Settings::of(Config { devices: 0, ..Config::default() }, Delivery::Late)
        });
        // SAFETY: the function is never unloaded, as the library is not.
        unsafe { atexit(end_contexts) };
        Mutex::new(Driver::new(sound, settings.is_err()))
    });
    let mut driver = lock();
    if let Some(injection) = &mut driver.injection
        && injection.fails(name)
    {
        return injection.code;
    }
    loop {
        driver.calling = name;
        let result = f(&mut driver);
        let awaited = std::mem::take(&mut driver.awaited);
        if awaited.is_empty() {
            return result.err().unwrap_or(codes::SUCCESS);
        }
        drop(driver);
        for work in awaited {
            work.wait();
        }
        driver = lock();
    }
}

/// Locks the driver for work that a call of the function `name` has deferred.
pub(crate) fn later<T>(name: &'static str, f: impl FnOnce(&mut Driver) -> T) -> T {
    let mut driver = lock();
    driver.calling = name;
    f(&mut driver)
}

/// Takes what the devices have done since the last call; nothing if no function of the library was called.
pub(crate) fn take_effort() -> Effort {
    let Some(driver) = DRIVER.get() else { return Effort::default() };
    let mut driver = driver.lock().expect("a panic under the lock ends the process");
    let devices = driver.contexts.iter_mut().flatten().map(|context| &mut context.device);
    devices.map(simulator::Device::take_effort).fold(Effort::default(), Effort::beside)
}

/// The locked driver. Only while nobody holds the lock is the program kept from what a copy may be writing.
struct Locked(MutexGuard<'static, Driver>);

/// Locks the driver, which is there when a function of the library was called.
fn lock() -> Locked {
    let mut driver = DRIVER.get().expect("it was called").lock().expect("a panic under the lock ends the process");
    driver.open_copies();
    Locked(driver)
}

impl Deref for Locked {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Driver {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.guard_copies();
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Ends every context with the process, unless the driver is busy.
extern "C" fn end_contexts() {
    if let Some(mut driver) = DRIVER.get().and_then(|driver| driver.try_lock().ok()) {
        driver.open_copies();
        let checks = driver.config.checks;
        driver.contexts.iter().flatten().for_each(|context| context.end(checks));
    }
}
