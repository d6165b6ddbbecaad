//! Work on two devices: the case's own, and the one that the param `to` names. `second` is the CUDA device after the case's
//! own; without that param it is the CPU. For a case on the CPU, both are the CPU.

use std::collections::BTreeMap;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Result, Tensor};

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::Call;

const SECOND: &str = "second";

/// Whether a case, or a step of one, sends to the second device.
pub fn wants_second(case: &Case) -> bool {
    let to_second = |name: &String| name.rsplit('.').next() == Some("to") && case.text(name) == SECOND;
    case.params.keys().any(to_second)
}

/// The CUDA device after `device`, opened once per process; of CPUs there is one.
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

/// The device that a call sends to.
pub fn there(call: &Call) -> Result<Device> {
    if call.case.text("to") == SECOND { second(call.device) } else { Ok(Device::Cpu) }
}

/// The case with the second device to send to, now and then.
pub fn sent(draw: &mut Draw, case: Case) -> arbitrary::Result<Case> {
    Ok(if draw.one_in(8)? { case.param("to", SECOND) } else { case })
}

/// An `Err` unless a call on tensors of two devices was refused; on the CPU, where they are of one, unless it was not.
pub fn refused(call: &Call, mixed: Result<Tensor>) -> Result<()> {
    match mixed {
        Ok(_) if !call.device.is_cpu() => candle_core::bail!("arguments on different devices are accepted"),
        Err(error) if call.device.is_cpu() => Err(error),
        _ => Ok(()),
    }
}
