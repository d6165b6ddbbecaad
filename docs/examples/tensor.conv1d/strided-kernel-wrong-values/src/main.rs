// element [0, 0, 0] is 181.25; expected 5.3125
// 80.0 comes from memory outside the view
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let kernel = Tensor::from_vec(vec![1f32, -0.5, 80.0, 80.0, 2.0, 0.25, 80.0, 80.0, -1.5, 3.0, 80.0, 80.0, 0.75, -2.0, 80.0, 80.0], (2, 2, 2, 2), &device)?.narrow(2, 0, 1)?.squeeze(2)?;
    let x = Tensor::new(&[[[1f32, -0.5], [2.0, 0.25]], [[-1.5, 3.0], [0.75, -2.0]]], &device)?;
    let output = x.conv1d(&kernel, 0, 1, 1, 1)?;
    println!("{:?}", output.to_vec3::<f32>()?);
    Ok(())
}
