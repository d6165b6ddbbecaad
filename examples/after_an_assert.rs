//! What each call does after a device-side assert.
//!
//! `cargo run --example after_an_assert -- cpu`, or with `--features cuda` and `-- cuda:0` on a machine that has one.
//!
//! A kernel that meets an id beyond its table ends the CUDA context of its device. Which call tells of that, and what the
//! calls after it do, is printed here, a line for each.

use candle_core::{Device, Result, Tensor};

fn main() -> Result<()> {
    let asked = std::env::args().nth(1).unwrap_or_else(|| "cpu".to_string());
    let device = open(&asked, 0)?;
    let second = open(&asked, 1);
    // Four rows: the largest id is 3.
    let table = Tensor::arange(0_f32, 12., &device)?.reshape((4, 3))?;
    let ids = Tensor::new(&[1_u32, 4], &device)?;
    let there = second.as_ref().map(|second| Tensor::ones((2, 2), table.dtype(), second));

    tell("index_select with id 4 of 0 to 3", table.index_select(&ids, 0));
    tell("matmul, nothing read back", table.matmul(&table.t()?));
    tell("add, nothing read back", &table + &table);
    tell("to_vec2 of the table, which waits", table.to_vec2::<f32>());
    tell("matmul again", table.matmul(&table.t()?));
    tell("a new tensor on the device", Tensor::new(&[1_f32], &device));
    tell("synchronize", device.synchronize());

    let anew = open(&asked, 0);
    tell("the device opened anew", anew.as_ref());
    if let Ok(anew) = anew {
        tell("a new tensor there", Tensor::new(&[1_f32], &anew));
    }
    match there {
        Ok(there) => {
            let sum = there.and_then(|there| (&there + &there)?.to_vec2::<f32>());
            tell("a sum on the second device", sum);
            let sum = open(&asked, 1).and_then(|anew| Tensor::new(&[1_f32], &anew)?.to_vec1::<f32>());
            tell("the second device opened anew", sum);
        }
        Err(_) => println!("{:<36} there is none", "the second device"),
    }
    Ok(())
}

/// The CPU, or the CUDA device that is `further` than the one that is asked for.
fn open(asked: &str, further: usize) -> Result<Device> {
    match asked.strip_prefix("cuda:").map(str::parse::<usize>) {
        Some(Ok(ordinal)) => Device::new_cuda(ordinal + further),
        _ if asked == "cpu" && further == 0 => Ok(Device::Cpu),
        _ if asked == "cpu" => candle_core::bail!("there is one CPU"),
        _ => candle_core::bail!("`{asked}` is no device; `cpu` and `cuda:0` are"),
    }
}

/// Prints what was called, and what came of it.
fn tell<T, E: std::fmt::Display>(called: &str, result: std::result::Result<T, E>) {
    match result {
        Ok(_) => println!("{called:<36} Ok"),
        Err(error) => println!("{called:<36} Err: {}", error.to_string().lines().next().unwrap_or_default()),
    }
}
