// element [0, 0, 0] is 565.0; expected 30.0
// 80.0 comes from memory outside the view
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let x = Tensor::new(
        &[[[1f32, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]],
        &device,
    )?;
    let kernel = Tensor::from_vec(
        vec![
            1f32, 2.0, 80.0, 80.0, 3.0, 4.0, 80.0, 80.0, 5.0, 6.0, 80.0, 80.0, 7.0, 8.0, 80.0, 80.0,
        ],
        (2, 2, 2, 2),
        &device,
    )?
    .narrow(2, 0, 1)?
    .squeeze(2)?;
    let output = x.conv1d(&kernel, 0, 1, 1, 1)?;
    println!("{:?}", output.to_vec3::<f32>()?);
    Ok(())
}
