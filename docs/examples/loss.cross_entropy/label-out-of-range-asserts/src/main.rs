// expected: an Err: label out of range
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::new_cuda(0)?;
    let inp = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &device)?;
    let target = Tensor::new(&[3u32, 0], &device)?;
    let output = candle_nn::loss::cross_entropy(&inp, &target)?;
    device.synchronize()?;
    println!("{output}");
    Ok(())
}
