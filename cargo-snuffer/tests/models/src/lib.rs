//! Runs small models of candle-transformers on the CPU and on a CUDA device, and compares what they return.

pub mod audio;
pub mod convolutions;
pub mod decoders;
pub mod diffusion;
pub mod encoders;
pub mod quantized;
pub mod vision;
mod weights;

use candle_core::{DType, Device, Result, Tensor};

use crate::quantized::Products;

/// How far the devices may differ, in parts of the largest element: they add up the terms of a sum in different
/// orders, and each order rounds differently.
const SUMS: f64 = 1e-4;

/// How far rounding may take a model with quantized weights. candle rounds the inputs of each product to 8 bits, on
/// both devices. The error of one product is 0.4 % of its result, and the layers let it grow.
const ROUNDING: f64 = 0.1;
/// How much more it may be on CUDA. The kernels, which are llama.cpp's, take the offset of some types times the sum
/// of the inputs before they are rounded. The errors of the two terms then do not cancel, and their sum is up to
/// twice that of the CPU.
const ROUNDING_ON_CUDA: f64 = 3.0;

/// Builds a model on a device, and runs it there.
type Model = fn(&Device) -> Result<Vec<Tensor>>;
type QuantizedModel = fn(&Device, Products) -> Result<Vec<Tensor>>;

/// Fails unless `model` returns something sensible on the CPU, and the same on the CUDA device.
pub fn check(model: Model) -> Result<()> {
    let expected = on_cpu(model)?;
    expected.iter().try_for_each(sensible)?;
    for (cpu, cuda) in expected.iter().zip(&on_cuda(&expected, model)?) {
        let (cpu, cuda) = (values(cpu)?, values(cuda)?);
        let differences = cpu.iter().zip(&cuda).map(|(cpu, cuda)| (cpu - cuda).abs());
        // A difference that is not a number is the largest in this order.
        let worst = differences.enumerate().max_by(|one, other| one.1.total_cmp(&other.1));
        let (place, difference) = worst.expect("elements");
        let allowed = SUMS * cpu.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
        println!("The largest difference is {difference:.1e}, {allowed:.1e} is allowed.");
        assert!(difference <= allowed, "element {place} is {} on the CPU and {} on CUDA", cpu[place], cuda[place]);
    }
    Ok(())
}

/// Fails unless rounding takes `model` about as far from the result of exact products on the CUDA device as on the CPU.
pub fn check_quantized(model: QuantizedModel) -> Result<()> {
    let exact = on_cpu(|device| model(device, Products::Exact))?;
    let rounded = on_cpu(|device| model(device, Products::Rounded))?;
    rounded.iter().try_for_each(sensible)?;
    for (exact, rounded) in exact.iter().zip(&rounded) {
        let distance = distance(&values(exact)?, &values(rounded)?);
        println!("The CPU is {distance:.4} from the exact result, {ROUNDING} is allowed.");
        assert!(distance <= ROUNDING, "the CPU is far from the exact result");
    }
    let found = on_cuda(&exact, |device| model(device, Products::Rounded))?;
    for ((exact, rounded), cuda) in exact.iter().zip(&rounded).zip(&found) {
        let exact = values(exact)?;
        let (distance, allowed) =
            (distance(&exact, &values(cuda)?), ROUNDING_ON_CUDA * distance(&exact, &values(rounded)?));
        println!("CUDA is {distance:.4} from the exact result, {allowed:.4} is allowed.");
        assert!(distance <= allowed, "CUDA is far from the exact result");
    }
    Ok(())
}

fn on_cpu(model: impl Fn(&Device) -> Result<Vec<Tensor>>) -> Result<Vec<Tensor>> {
    model(&Device::Cpu).map_err(|error| error.context("on the CPU"))
}

/// The result on the CUDA device, if this was built for one, in the shapes and the types of `expected`.
fn on_cuda(expected: &[Tensor], model: impl Fn(&Device) -> Result<Vec<Tensor>>) -> Result<Vec<Tensor>> {
    if !cfg!(feature = "cuda") {
        return Ok(Vec::new());
    }
    let found = Device::new_cuda(0).and_then(|cuda| model(&cuda)).map_err(|error| error.context("on CUDA"))?;
    let kinds =
        |tensors: &[Tensor]| -> Vec<_> { tensors.iter().map(|one| (one.shape().clone(), one.dtype())).collect() };
    assert_eq!(kinds(expected), kinds(&found));
    Ok(found)
}

/// Fails if the result is not finite, or nearly the same everywhere: then it would be equal on a device that computes
/// something else.
fn sensible(result: &Tensor) -> Result<()> {
    let values = values(result)?;
    assert!(values.iter().all(|value| value.is_finite()), "not finite on the CPU: {values:?}");
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(least, most), &v| (least.min(v), most.max(v)));
    println!("{:?} from {least} to {most}", result.shape());
    assert!(most - least > 0.01, "nearly constant on the CPU");
    Ok(())
}

fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// The length of the difference, in lengths of `exact`.
fn distance(exact: &[f64], found: &[f64]) -> f64 {
    let squares: f64 = exact.iter().zip(found).map(|(exact, found)| (exact - found).powi(2)).sum();
    (squares / exact.iter().map(|value| value.powi(2)).sum::<f64>()).sqrt()
}
