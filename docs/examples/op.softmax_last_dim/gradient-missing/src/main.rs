// expected: Ok, and a gradient
use candle_core::{Device, Result, Tensor, Var};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let x_var = Var::from_tensor(&Tensor::new(&[1f32, 2.0], &device)?)?;
    let x = x_var.as_tensor().clone();
    let output = candle_nn::ops::softmax_last_dim(&x)?;
    println!("{:?}", output.to_vec1::<f32>()?);
    let weights = Tensor::new(&[1f32, 2.0], &device)?;
    let grads = (&output * weights)?.sum_all()?.backward()?;
    match grads.get(&x_var) {
        Some(grad) => println!("gradient of x:\n{grad}"),
        None => println!("no gradient of x"),
    }
    Ok(())
}
