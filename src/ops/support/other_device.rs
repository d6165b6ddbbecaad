//! Work on two devices: the case's own, and the other one that the param `to` names. For a case on the CPU, both are the CPU.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Result, Tensor};

use crate::case::{Case, Param};
use crate::generate::Draw;
use crate::ops::Call;

/// The other device of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    /// The host.
    Host,
    /// The GPU after the case's own.
    Second,
    /// Another device object of the case's GPU: what a second call of `Device::new_cuda` returns.
    Again,
    /// Another device object of the case's GPU, with a stream of its own.
    OwnStream,
}
use Other::{Again, Host, OwnStream, Second};

impl Other {
    const ALL: [Self; 4] = [Host, Second, Again, OwnStream];

    /// The word of the param.
    const fn word(self) -> &'static str {
        match self {
            Host => "",
            Second => "second",
            Again => "again",
            OwnStream => "own stream",
        }
    }

    /// The one that `case` names.
    fn of(case: &Case) -> Self {
        Self::ALL.into_iter().find(|other| other.word() == case.text("to")).unwrap_or(Host)
    }
}

/// The words for a device that is another place: a tensor there is none of the case's device.
pub const PLACES: &[&str] = &[Host.word(), Second.word()];
/// The words for any other device object.
pub const OBJECTS: &[&str] = &[Host.word(), Second.word(), Again.word(), OwnStream.word()];

/// True if a case, or one of its steps, names this device.
fn names(case: &Case, other: Other) -> bool {
    let is_named =
        |(name, param): (&String, &Param)| name.rsplit('.').next() == Some("to") && *param == Param::from(other.word());
    case.params.iter().any(is_named)
}

/// True if a case, or one of its steps, uses the second GPU.
pub fn wants_second(case: &Case) -> bool {
    names(case, Second)
}

/// True if a case, or one of its steps, uses another device object of a GPU.
pub fn wants_other(case: &Case) -> bool {
    [Second, Again, OwnStream].into_iter().any(|other| names(case, other))
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

/// The other device of a call, for as long as the call takes: cudarc orders work in another way while a GPU has a second stream.
#[derive(Debug)]
pub struct There {
    device: Device,
    other: Other,
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
        if matches!(self.other, Again | OwnStream) {
            let _ = self.device.synchronize();
        }
    }
}

/// The other device of a call. For a case on the CPU it is the CPU.
pub fn there(call: &Call) -> Result<There> {
    let other = Other::of(call.case);
    let device = match (other, call.device.location()) {
        (Host, _) => Device::Cpu,
        (Second, _) => second(call.device)?,
        (Again, DeviceLocation::Cuda { gpu_id }) => Device::new_cuda(gpu_id)?,
        (OwnStream, DeviceLocation::Cuda { gpu_id }) => Device::new_cuda_with_stream(gpu_id)?,
        (Again | OwnStream, _) => call.device.clone(),
    };
    Ok(There { device, other })
}

/// True if the other device of a call is another object of the case's own GPU. candle must accept its tensors, in the right order.
pub fn is_own_gpu(case: &Case) -> bool {
    matches!(Other::of(case), Again | OwnStream)
}

/// The other device of a call on the GPU of this number, in Rust.
pub fn in_rust(case: &Case, gpu: u8) -> String {
    match Other::of(case) {
        Host => "&Device::Cpu".to_string(),
        Second => format!("&Device::new_cuda({})?", u32::from(gpu) + 1),
        Again => format!("&Device::new_cuda({gpu})?"),
        OwnStream => format!("&Device::new_cuda_with_stream({gpu})?"),
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
