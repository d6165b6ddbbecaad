// element [0, 0, 0] is 80.0, from memory outside the view; expected 0.0
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let kernel = Tensor::from_vec(vec![0f32, 80.0, 0.0, 80.0], (1, 2, 2, 1), &device)?.narrow(2, 0, 1)?.squeeze(2)?;
    let x = Tensor::new(&[[[0f32], [1.0]]], &device)?;
    let output = x.conv1d(&kernel, 0, 1, 1, 1)?;
    println!("{:?}", output.to_vec3::<f32>()?);
    Ok(())
}
