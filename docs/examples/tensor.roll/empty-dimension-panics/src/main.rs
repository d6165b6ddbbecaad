// expected: Ok with f32[0]
use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let x = Tensor::from_vec(Vec::<f32>::new(), 0, &device)?;
    let output = x.roll(0, 0)?;
    println!("{output}");
    Ok(())
}
