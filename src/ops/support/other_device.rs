//! Work on several devices: the case's own, the other one that the param `to` names, and those that steps are made on. For a case on the
//! CPU, all are the CPU.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Result, Tensor};

use crate::case::DeviceObject::{Again, Own, OwnStream, Second};
use crate::case::{Case, DeviceObject, Param};
use crate::generate::Draw;
use crate::ops::Call;

/// The word of the param for the host.
const HOST: &str = "";
/// The words for a device that is another place: a tensor there is none of the case's device.
pub const PLACES: &[&str] = &[HOST, Second.word()];
/// The words for any other device object.
pub const OBJECTS: &[&str] = &[HOST, Second.word(), Again.word(), OwnStream.word()];

/// The device object that the param names; `None` for the host.
fn named(case: &Case) -> Option<DeviceObject> {
    DeviceObject::another(case.text("to"))
}

/// True if a case, or one of its steps, names this device object or is made on it.
fn names(case: &Case, object: DeviceObject) -> bool {
    let is_named = |(name, param): (&String, &Param)| {
        name.rsplit('.').next() == Some("to") && *param == Param::from(object.word())
    };
    case.devices.values().contains(&object) || case.params.iter().any(is_named)
}

/// True if a case, or one of its steps, uses the second GPU.
pub fn wants_second(case: &Case) -> bool {
    names(case, Second)
}

/// True if a case, or one of its steps, uses another device object of a GPU.
pub fn wants_other(case: &Case) -> bool {
    DeviceObject::OTHERS.into_iter().any(|object| names(case, object))
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
    is_own: bool,
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
        if self.is_own {
            let _ = self.device.synchronize();
        }
    }
}

impl There {
    /// The device of this `object` for a case that runs on `own`. For a case on the CPU it is the CPU.
    fn open(object: DeviceObject, own: &Device) -> Result<Self> {
        let shared = |device| Self { device, is_own: false };
        let of_its_own = |device| Self { device, is_own: true };
        Ok(match (object, own.location()) {
            (Second, _) => shared(second(own)?),
            (Again, DeviceLocation::Cuda { gpu_id }) => of_its_own(Device::new_cuda(gpu_id)?),
            (OwnStream, DeviceLocation::Cuda { gpu_id }) => of_its_own(Device::new_cuda_with_stream(gpu_id)?),
            (Own | Again | OwnStream, _) => shared(own.clone()),
        })
    }
}

/// The other device of a call.
pub fn there(call: &Call) -> Result<There> {
    match named(call.case) {
        None => Ok(There { device: Device::Cpu, is_own: false }),
        Some(object) => There::open(object, call.device),
    }
}

/// The device objects of a case.
#[derive(Debug)]
pub struct Devices {
    own: Device,
    others: BTreeMap<DeviceObject, There>,
}

impl Devices {
    /// Opens those that the steps of `case` are made on, beside `own`.
    pub fn open(case: &Case, own: &Device) -> Result<Self> {
        let mut devices = Self::only(own);
        for object in case.devices.others() {
            if !devices.others.contains_key(&object) {
                devices.others.insert(object, There::open(object, own)?);
            }
        }
        Ok(devices)
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

/// True if the other device of a call is another object of the case's own GPU. candle must accept its tensors, in the right order.
pub fn is_own_gpu(case: &Case) -> bool {
    matches!(named(case), Some(Again | OwnStream))
}

/// The other device of a call on the GPU of this number, in Rust.
pub fn in_rust(case: &Case, gpu: u8) -> String {
    match named(case) {
        None => "&Device::Cpu".to_string(),
        Some(object) => format!("&{}", opened_in_rust(object, gpu)),
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

/// The case, now and then with one of these devices as its other one.
pub fn sent(draw: &mut Draw, case: Case, words: &[&'static str]) -> arbitrary::Result<Case> {
    Ok(if draw.one_in(8)? { case.param("to", *draw.choose(&words[1..])?) } else { case })
}

/// An `Err` unless candle refused a call on tensors of two devices. For a case on the CPU both are one device: an
/// `Err` if candle refused.
pub fn refused(call: &Call, mixed: Result<Tensor>) -> Result<()> {
    match mixed {
        // Of nothing, nothing is computed.
        Ok(result) if !call.device.is_cpu() && result.elem_count() > 0 => {
            candle_core::bail!("arguments on different devices are accepted")
        }
        Err(error) if call.device.is_cpu() => Err(error),
        _ => Ok(()),
    }
}
