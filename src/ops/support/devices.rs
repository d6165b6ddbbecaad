//! The device objects of a case: its own, and those that its steps are made on. For a case on the CPU, all are the CPU.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Result};

use crate::case::DeviceObject::{Again, Own, OwnStream, Second};
use crate::case::{Case, DeviceObject};

/// The device objects of a case.
#[derive(Debug)]
pub struct Devices {
    own: Device,
    others: BTreeMap<DeviceObject, There>,
}

impl Devices {
    /// Opens those that the steps of `case` are made on, beside `own`.
    pub fn open(case: &Case, own: &Device) -> Result<Self> {
        let objects: BTreeSet<DeviceObject> = case.devices.others().collect();
        let opened = objects.into_iter().map(|object| Ok((object, There::open(object, own)?)));
        Ok(Self { own: own.clone(), others: opened.collect::<Result<_>>()? })
    }

    /// `own` alone.
    pub fn only(own: &Device) -> Self {
        Self { own: own.clone(), others: BTreeMap::new() }
    }

    /// The one that the case runs on.
    pub fn own(&self) -> &Device {
        &self.own
    }

    /// The one of this `object`: the case's own if no other is open.
    pub fn of(&self, object: DeviceObject) -> &Device {
        self.others.get(&object).map_or(&self.own, |there| there)
    }

    /// Waits for all of them.
    pub fn synchronize(&self) -> Result<()> {
        self.own.synchronize()?;
        self.others.values().try_for_each(|there| there.synchronize())
    }
}

/// The GPU after `device`, opened once per process; for the CPU, the CPU.
pub fn second(device: &Device) -> Result<Device> {
    static OPENED: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    let DeviceLocation::Cuda { gpu_id } = device.location() else { return Ok(device.clone()) };
    let mut opened = OPENED.lock().expect("nothing panics under the lock");
    if let Some(device) = opened.get(&gpu_id) {
        return Ok(device.clone());
    }
    let device = Device::new_cuda(gpu_id + 1)?;
    opened.insert(gpu_id, device.clone());
    Ok(device)
}

/// A device that is closed when it is dropped: cudarc orders work in another way while a GPU has a second stream.
#[derive(Debug)]
pub struct There {
    device: Device,
    /// True if nobody else has it.
    is_exclusive: bool,
}

impl Deref for There {
    type Target = Device;
    fn deref(&self) -> &Device {
        &self.device
    }
}

impl Drop for There {
    fn drop(&mut self) {
        // Nothing runs on it any more when it is closed. An error stays in the context, where the case's own device finds it.
        if self.is_exclusive {
            let _ = self.device.synchronize();
        }
    }
}

impl There {
    /// The host.
    pub fn host() -> Self {
        Self { device: Device::Cpu, is_exclusive: false }
    }

    /// The device of this `object` for a case that runs on `own`.
    pub fn open(object: DeviceObject, own: &Device) -> Result<Self> {
        let shared = |device| Self { device, is_exclusive: false };
        let exclusive = |device| Self { device, is_exclusive: true };
        Ok(match (object, own.location()) {
            (Second, _) => shared(second(own)?),
            (Again, DeviceLocation::Cuda { gpu_id }) => exclusive(Device::new_cuda(gpu_id)?),
            (OwnStream, DeviceLocation::Cuda { gpu_id }) => exclusive(Device::new_cuda_with_stream(gpu_id)?),
            (Own | Again | OwnStream, _) => shared(own.clone()),
        })
    }
}

/// The expression that opens a device object beside the one of the GPU of this number, in Rust.
pub fn opened_in_rust(object: DeviceObject, gpu: u8) -> String {
    match object {
        Own | Again => format!("Device::new_cuda({gpu})?"),
        Second => format!("Device::new_cuda({})?", u32::from(gpu) + 1),
        OwnStream => format!("Device::new_cuda_with_stream({gpu})?"),
    }
}
