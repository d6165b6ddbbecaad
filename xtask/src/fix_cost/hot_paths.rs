//! Times calls on which models spend their time and whose code a fix of candle changes: `hot_paths cpu` or `hot_paths cuda`, and after it
//! a part of the names of the calls.
//!
//! A line for each call: its name, and the least time of one call in nanoseconds.

use std::time::{Duration, Instant};

use candle_core::{DType, Device, Result, Tensor, Var, D};
use candle_nn::attention::{flash_attn, AttnMask};
use candle_nn::{loss, ops, rotary_emb, Module};

/// How long a call is repeated before its time is read.
const BATCH: Duration = Duration::from_millis(20);
/// How many times are read. The least one counts.
const BATCHES: usize = 5;

struct Times {
    device: Device,
    only: String,
}

impl Times {
    fn floats(&self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Tensor::randn(0f32, 1., shape, &self.device)?.to_dtype(dtype)
    }

    fn ids(&self, count: usize, bound: usize) -> Result<Tensor> {
        let ids: Vec<u32> = (0..count).map(|at| ((at * 7919) % bound) as u32).collect();
        Tensor::new(ids, &self.device)
    }

    /// Prints the least time of `call`, after its work on the device has ended, if that is asked for.
    fn time<T>(&self, name: &str, call: impl Fn() -> Result<T>) -> Result<()> {
        if !name.contains(&self.only) {
            return Ok(());
        }
        let run = |count: u32| -> Result<Duration> {
            let begun = Instant::now();
            for _ in 0..count {
                std::hint::black_box(call()?);
            }
            self.device.synchronize()?;
            Ok(begun.elapsed())
        };
        let mut count = 1;
        while run(count)? < BATCH {
            count *= 2;
        }
        let mut least = Duration::MAX;
        for _ in 0..BATCHES {
            least = least.min(run(count)?);
        }
        println!("{name}\t{}", least.as_nanos() / u128::from(count));
        Ok(())
    }

    fn all(&self) -> Result<()> {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            self.in_dtype(dtype)?;
        }
        self.integers()?;
        self.indexing()?;
        self.training()?;
        self.views()?;
        match self.device {
            Device::Cpu => self.attention(),
            _ => Ok(()),
        }
    }

    fn in_dtype(&self, dtype: DType) -> Result<()> {
        let name = dtype.as_str();
        let x = self.floats(dtype, &[512, 1024])?;
        let (weight, bias) = (self.floats(dtype, &[1024])?, self.floats(dtype, &[1024])?);
        self.time(&format!("sum {name}"), || x.sum(D::Minus1))?;
        self.time(&format!("sum of columns {name}"), || x.sum(0))?;
        self.time(&format!("max {name}"), || x.max(D::Minus1))?;
        self.time(&format!("argmax {name}"), || x.argmax(D::Minus1))?;
        self.time(&format!("mean {name}"), || x.mean(D::Minus1))?;
        self.time(&format!("var {name}"), || x.var(D::Minus1))?;
        self.time(&format!("relu {name}"), || x.relu())?;
        self.time(&format!("silu {name}"), || x.silu())?;
        self.time(&format!("gelu {name}"), || x.gelu())?;
        self.time(&format!("sigmoid {name}"), || ops::sigmoid(&x))?;
        self.time(&format!("maximum {name}"), || x.maximum(&x))?;
        let positive = (x.abs()? + 0.1)?;
        self.time(&format!("pow {name}"), || positive.pow(&x))?;
        self.time(&format!("affine {name}"), || x.affine(2., 1.))?;
        self.time(&format!("softmax_last_dim {name}"), || ops::softmax_last_dim(&x))?;
        self.time(&format!("rms_norm {name}"), || ops::rms_norm(&x, &weight, 1e-5))?;
        self.time(&format!("layer_norm {name}"), || ops::layer_norm(&x, &weight, &bias, 1e-5))?;
        self.time(&format!("log_sum_exp {name}"), || x.log_sum_exp(D::Minus1))?;
        self.time(&format!("arg_sort_last_dim {name}"), || x.arg_sort_last_dim(true))?;
        let (left, right) = (self.floats(dtype, &[256, 512])?, self.floats(dtype, &[512, 512])?);
        self.time(&format!("matmul {name}"), || left.matmul(&right))?;
        self.time(&format!("matmul of a transposed matrix {name}"), || left.matmul(&right.t()?))?;
        for rows in [1, 2, 7] {
            let left = left.narrow(0, 0, rows)?;
            self.time(&format!("matmul of {rows} rows {name}"), || left.matmul(&right))?;
            self.time(&format!("matmul of {rows} rows and a transposed matrix {name}"), || left.matmul(&right.t()?))?;
        }
        let heads = self.floats(dtype, &[1, 8, 128, 64])?;
        let (cos, sin) = (self.floats(dtype, &[128, 32])?, self.floats(dtype, &[128, 32])?);
        self.time(&format!("rope {name}"), || rotary_emb::rope(&heads, &cos, &sin))?;
        self.time(&format!("rope_i {name}"), || rotary_emb::rope_i(&heads, &cos, &sin))?;
        self.time(&format!("rope_thd {name}"), || rotary_emb::rope_thd(&heads.reshape((1, 128, 8, 64))?, &cos, &sin))?;
        let tables = (self.floats(dtype, &[1, 160, 32])?, self.floats(dtype, &[1, 160, 32])?);
        self.time(&format!("rope of a table for each sequence {name}"), || {
            rotary_emb::rope(&heads, &tables.0, &tables.1)
        })?;
        let image = self.floats(dtype, &[1, 32, 32, 32])?;
        self.time(&format!("max_pool2d {name}"), || image.max_pool2d(2))?;
        self.time(&format!("avg_pool2d {name}"), || image.avg_pool2d(2))?;
        if self.device.is_cuda() || dtype != DType::BF16 {
            let kernel = self.floats(dtype, &[32, 32, 3, 3])?;
            self.time(&format!("conv2d {name}"), || image.conv2d(&kernel, 1, 1, 1, 1))?;
        }
        let (signal, kernel) = (self.floats(dtype, &[2, 64, 512])?, self.floats(dtype, &[64, 64, 3])?);
        self.time(&format!("conv1d {name}"), || signal.conv1d(&kernel, 1, 1, 1, 1))?;
        self.time(&format!("conv_transpose1d {name}"), || signal.conv_transpose1d(&kernel, 1, 0, 1, 1, 1))
    }

    fn integers(&self) -> Result<()> {
        let x = self.ids(512 * 1024, 1 << 20)?.reshape((512, 1024))?;
        let y = (&x + 1.)?;
        self.time("div u32", || &x / &y)?;
        self.time("div of a broadcast row u32", || x.broadcast_div(&y.narrow(0, 0, 1)?))?;
        let (x, y) = (x.to_dtype(DType::I64)?, y.to_dtype(DType::I64)?);
        self.time("div i64", || &x / &y)?;
        self.time("div of a transposed matrix i64", || x.t()? / y.t()?)
    }

    fn indexing(&self) -> Result<()> {
        let x = self.floats(DType::F32, &[4096, 256])?;
        let ids = self.ids(1024, 4096)?;
        let table = ids.unsqueeze(1)?.broadcast_as((1024, 256))?.contiguous()?;
        let rows = self.floats(DType::F32, &[1024, 256])?;
        let embedding = candle_nn::Embedding::new(x.clone(), 256);
        self.time("index_select", || x.index_select(&ids, 0))?;
        self.time("embedding of one token", || embedding.forward(&ids.narrow(0, 5, 1)?))?;
        self.time("gather", || x.gather(&table, 0))?;
        self.time("index_add", || x.index_add(&ids, &rows, 0))?;
        self.time("scatter_add", || x.scatter_add(&table, &rows, 0))
    }

    fn training(&self) -> Result<()> {
        let (logits, labels) = (Var::from_tensor(&self.floats(DType::F32, &[64, 1000])?)?, self.ids(64, 1000)?);
        self.time("cross_entropy", || loss::cross_entropy(&logits, &labels))?;
        self.time("cross_entropy, backward", || loss::cross_entropy(&logits, &labels)?.backward())?;
        let target = logits.ones_like()?;
        self.time("binary_cross_entropy_with_logit", || loss::binary_cross_entropy_with_logit(&logits, &target))?;
        let (weight, x) =
            (Var::from_tensor(&self.floats(DType::F32, &[256, 256])?)?, self.floats(DType::F32, &[64, 256])?);
        let network = || x.matmul(&weight)?.gelu()?.matmul(&weight)?.relu()?.sqr()?.mean_all();
        self.time("a network of two layers, backward", || network()?.backward())?;
        let (signal, kernel) =
            (self.floats(DType::F32, &[2, 32, 256])?, Var::from_tensor(&self.floats(DType::F32, &[32, 32, 3])?)?);
        self.time("conv1d, backward", || signal.conv1d(&kernel, 1, 1, 1, 1)?.sum_all()?.backward())?;
        let image = Var::from_tensor(&self.floats(DType::F32, &[1, 16, 32, 32])?)?;
        self.time("max_pool2d, backward", || image.max_pool2d(2)?.sum_all()?.backward())?;
        self.time("max, backward", || logits.max(D::Minus1)?.sum_all()?.backward())
    }

    fn views(&self) -> Result<()> {
        let x = self.floats(DType::F32, &[64, 1024])?;
        self.time("narrow", || x.narrow(1, 8, 128))?;
        self.time("reshape", || x.reshape((128, 512)))?;
        self.time("cumsum", || x.cumsum(D::Minus1))?;
        let mut cache = candle_nn::kv_cache::RotatingKvCache::new(2, 256);
        let token = self.floats(DType::F32, &[1, 8, 1, 64])?;
        let cache = std::cell::RefCell::new({
            cache.append(&token, &token)?;
            cache
        });
        self.time("append to a RotatingKvCache of 256", || cache.borrow_mut().append(&token, &token))
    }

    /// candle has this attention on the CPU alone.
    fn attention(&self) -> Result<()> {
        let one = |rows: usize| self.floats(DType::F32, &[1, rows, 8, 64]);
        let (rows, keys, row) = (one(128)?, one(128)?, one(1)?);
        let attend = |q: &Tensor, mask| flash_attn::<f32>(q, &keys, &keys, 0.125, mask, None, None);
        self.time("flash_attn", || attend(&rows, AttnMask::None))?;
        self.time("flash_attn, causal", || attend(&rows, AttnMask::causal()))?;
        self.time("flash_attn of one row", || attend(&row, AttnMask::None))?;
        self.time("flash_attn of one row, causal", || attend(&row, AttnMask::causal_with_offset(127)))
    }
}

fn main() -> Result<()> {
    let device = match std::env::args().nth(1).as_deref() {
        Some("cpu") => Device::Cpu,
        Some("cuda") => Device::new_cuda(0)?,
        _ => candle_core::bail!("name a device: cpu or cuda"),
    };
    Times { device, only: std::env::args().nth(2).unwrap_or_default() }.all()
}
