//! The simulated device's PTX parser, and a short launch of each parsed kernel.
#![no_main]

use simulator::{Config, Device, Launch};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut device = Device::new(0, &Config { memory: 1 << 20, budget: 10_000, ..Config::default() });
    let Ok(module) = device.load(text) else { return };
    for kernel in device.coverage() {
        let Some(function) = device.function(module, &kernel.kernel) else { continue };
        let params = vec![0; device.entry(function).param_bytes as usize];
        let _ = device.launch(function, &Launch { grid: [1, 1, 1], block: [4, 1, 1], shared: 0, params });
    }
});
