// expected: an Err: label out of range
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::new_cuda(0)?;
    let inp = Tensor::new(&[[0f32]], &device)?;
    let target = Tensor::new(&[1u32], &device)?;
    let output = candle_nn::loss::cross_entropy(&inp, &target)?;
    device.synchronize()?;
    println!("{output}");
    Ok(())
}
