//! What a device says of itself, and its seed.

use candle_core::{DType as Candle, Device, DeviceLocation, Result, Tensor};
use ndarray::{ArrayD, IxDyn};

use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::draw_x;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// How many facts there are.
const FACTS: usize = 7;

/// Facts about the device of `x`, 1 for each that is true: it is a CPU or a CUDA device and no other; its place says the same; it is the
/// device of the call; that one has the same place; a model in `bf16` stays in it where it is supported; it can be waited for; after the
/// same seed it draws the same numbers, or, on a CPU, it says that it cannot be seeded.
pub static DEVICE: Op = Op {
    name: "state.device",
    covers: &["Device"],
    support: &Support::both("x", &DType::ALL),
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_x(draw, 0, 2),
    contract: &|case| match case.tensor("x") {
        Some(_) => Contract::accepts(DType::U8, &[FACTS]),
        None => Contract::Rejects(&rule::SHAPES),
    },
    call: &|call| {
        let (own, device) = (call.tensor("x")?.device(), call.device);
        let facts = [
            own.is_cpu() != own.is_cuda() && !own.is_metal(),
            matches!(own.location(), DeviceLocation::Cpu) == own.is_cpu(),
            own.same_device(device),
            own.location() == device.location(),
            own.bf16_default_to_f32() == if own.supports_bf16() { Candle::BF16 } else { Candle::F32 },
            own.synchronize().is_ok(),
            is_seeded(own)?,
        ];
        Ok(vec![Tensor::new(&facts.map(u8::from), &Device::Cpu)?])
    },
    source: r"
        let own = x.device();
        let drawn = |seed: u64| -> Result<Vec<f32>> {
            own.set_seed(seed)?;
            Tensor::rand(0f32, 1f32, 4, own)?.to_vec1()
        };
        let seeded = match own.is_cpu() {
            true => own.set_seed(7).is_err() && own.get_current_seed().is_err(),
            false => drawn(7)? == drawn(7)? && own.get_current_seed()? == 7,
        };
        let facts = [
            own.is_cpu() != own.is_cuda() && !own.is_metal(),
            matches!(own.location(), candle_core::DeviceLocation::Cpu) == own.is_cpu(),
            own.same_device(&device),
            own.location() == device.location(),
            own.bf16_default_to_f32() == if own.supports_bf16() { DType::BF16 } else { DType::F32 },
            own.synchronize().is_ok(),
            seeded,
        ];
        Tensor::new(&facts.map(u8::from), &Device::Cpu)?
    ",
    // This is about candle's own devices.
    torch: "",
    reference: Some(&|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/device.rs:278-340, 511; cpu_backend/mod.rs:3184: 'cannot seed the CPU rng' (candle alone); \
              torch.manual_seed for the numbers after a seed",
};

/// Whether the same numbers follow the same seed; of a CPU, whether it refuses seeds.
fn is_seeded(device: &Device) -> Result<bool> {
    if device.is_cpu() {
        return Ok(device.set_seed(7).is_err() && device.get_current_seed().is_err());
    }
    let drawn = |seed: u64| -> Result<Vec<f32>> {
        device.set_seed(seed)?;
        Tensor::rand(0f32, 1f32, 4, device)?.to_vec1()
    };
    Ok(drawn(7)? == drawn(7)? && device.get_current_seed()? == 7)
}
