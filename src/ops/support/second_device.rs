//! Work on two devices: the case's own, and the other one, which is the CPU or, by the param `to`, the CUDA
//! device after the case's own. For a case on the CPU, both are the CPU.

use std::collections::BTreeMap;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Result, Tensor};

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::Call;

const SECOND: &str = "second";

/// Whether a case, or one of its steps, uses the second device.
pub fn wants_second(case: &Case) -> bool {
    let to_second = |name: &String| name.rsplit('.').next() == Some("to") && case.text(name) == SECOND;
    case.params.keys().any(to_second)
}

/// The CUDA device after `device`, opened once per process; for the CPU, the CPU.
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

/// The other device of a call.
pub fn there(call: &Call) -> Result<Device> {
    if call.case.text("to") == SECOND { second(call.device) } else { Ok(Device::Cpu) }
}

/// The case, now and then with the second device as its other one.
pub fn sent(draw: &mut Draw, case: Case) -> arbitrary::Result<Case> {
    Ok(if draw.one_in(8)? { case.param("to", SECOND) } else { case })
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
