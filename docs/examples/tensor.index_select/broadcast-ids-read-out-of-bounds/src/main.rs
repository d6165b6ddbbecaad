// expected: Ok with f32[2]
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::new_cuda(0)?;
    let ids = Tensor::new(&[0u32], &device)?.broadcast_as(2)?;
    let x = Tensor::new(&[0f32], &device)?;
    let output = x.index_select(&ids, 0)?;
    device.synchronize()?;
    println!("{output}");
    Ok(())
}
