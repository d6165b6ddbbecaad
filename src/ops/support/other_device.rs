//! Work on two devices: the case's own, and the other one that the param `to` names. For a case on the CPU, both are the CPU.

use candle_core::{Result, Tensor};

use super::devices::{There, opened_in_rust};
use crate::case::DeviceObject::{Again, OwnStream, Second};
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

/// The other device of a call.
pub fn there(call: &Call) -> Result<There> {
    match named(call.case) {
        None => Ok(There::host()),
        Some(object) => There::open(object, call.device),
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
