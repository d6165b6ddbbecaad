//! What each call does after a device-side assert.
//!
//! `cargo run --example after_an_assert -- cpu`, or with `--features cuda` and `-- cuda:0` on a machine with a GPU.
//!
//! An id outside of its table makes a kernel assert, which ends the CUDA context of the device. This prints, one line per
//! call, which call reports that and what the calls after it do.

use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "cpu".to_string());
    let device = open(&name, 0)?;
    let second = open(&name, 1);
    // Four rows: the largest id is 3.
    let table = Tensor::arange(0_f32, 12., &device)?.reshape((4, 3))?;
    let ids = Tensor::new(&[1_u32, 4], &device)?;
    let on_second = second.as_ref().map(|second| Tensor::ones((2, 2), table.dtype(), second));

    show("index_select with id 4 of 0 to 3", table.index_select(&ids, 0));
    show("matmul, nothing read back", table.matmul(&table.t()?));
    show("add, nothing read back", &table + &table);
    show("to_vec2 of the table, which waits", table.to_vec2::<f32>());
    show("matmul again", table.matmul(&table.t()?));
    show("a new tensor on the device", Tensor::new(&[1_f32], &device));
    show("synchronize", device.synchronize());

    let anew = open(&name, 0);
    show("the device opened anew", anew.as_ref());
    if let Ok(anew) = anew {
        show("a new tensor there", Tensor::new(&[1_f32], &anew));
    }
    match on_second {
        Ok(ones) => {
            let sum = ones.and_then(|ones| (&ones + &ones)?.to_vec2::<f32>());
            show("a sum on the second device", sum);
            let sum = open(&name, 1).and_then(|anew| Tensor::new(&[1_f32], &anew)?.to_vec1::<f32>());
            show("the second device opened anew", sum);
        }
        Err(_) => println!("{:<36} there is none", "the second device"),
    }
    Ok(())
}

/// The CPU, or the CUDA device `offset` after the named one.
fn open(name: &str, offset: usize) -> Result<Device> {
    match name.strip_prefix("cuda:").map(str::parse::<usize>) {
        Some(Ok(ordinal)) => Device::new_cuda(ordinal + offset),
        _ if name == "cpu" && offset == 0 => Ok(Device::Cpu),
        _ if name == "cpu" => candle_core::bail!("there is only one CPU"),
        _ => candle_core::bail!("`{name}` is not a device; use `cpu` or `cuda:0`"),
    }
}

/// Prints a call and its result.
fn show<T, E: std::fmt::Display>(call: &str, result: std::result::Result<T, E>) {
    match result {
        Ok(_) => println!("{call:<36} Ok"),
        Err(error) => println!("{call:<36} Err: {}", error.to_string().lines().next().unwrap_or_default()),
    }
}
