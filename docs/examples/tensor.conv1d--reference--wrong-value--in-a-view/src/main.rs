// expected: Ok with f32[1, 3, 2]
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let kernel = Tensor::new(&[[[0f32, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], &device)?.permute(vec![0, 2, 1])?;
    let x = Tensor::new(&[[[1f32], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0]]], &device)?;
    let output = x.conv1d(&kernel, 1, 1, 1, 3)?;
    println!("{:?}", output.to_vec3::<f32>()?);
    Ok(())
}
