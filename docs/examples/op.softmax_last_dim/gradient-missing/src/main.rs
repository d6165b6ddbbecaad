// expected: Ok, and a gradient
use candle_core::{Device, Result, Tensor, Var};

fn main() -> Result<()> {
    let device = Device::Cpu;
    let x_var = Var::from_tensor(&Tensor::new(&[1f32, -0.5], &device)?)?;
    let x = x_var.as_tensor().clone();
    let output = candle_nn::ops::softmax_last_dim(&x)?;
    println!("{:?}", output.to_vec1::<f32>()?);
    // Every element has its own weight.
    let weighted_sum = |x: &Tensor| -> Result<Tensor> {
        let weights: Vec<f64> = (0..x.elem_count()).map(|i| [1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 4.0][i % 7]).collect();
        let weights = Tensor::from_vec(weights, x.shape(), x.device())?.to_dtype(x.dtype())?;
        (x * weights)?.sum_all()
    };
    let total = weighted_sum(&output)?;
    let grads = total.backward()?;
    match grads.get(&x_var) {
        Some(grad) => println!("gradient of x:\n{grad}"),
        None => println!("no gradient of x"),
    }
    Ok(())
}
