//! What a worker asks of the driver of a real GPU: how many there are, how much memory is free, whether a kernel runs, and to
//! compile candle's kernels.

use candle_core::cuda_backend::cudarc::driver::CudaContext;
use candle_core::cuda_backend::kernels;
use candle_core::{DType, Error, Result, Tensor};

use super::Opened;
use crate::device::Gpu;

/// How many GPUs the driver shows to this process.
pub fn visible() -> Result<usize> {
    Ok(CudaContext::device_count().map_err(Error::wrap)? as usize)
}

/// Runs one of candle's kernels on the device and reads its result. Fails if the driver cannot load candle's kernels, and does
/// not return if the device is wedged.
pub fn probe(opened: &Opened) -> Result<()> {
    let doubled = Tensor::ones(1, DType::F32, opened)?.affine(2.0, 1.0)?.to_vec1::<f32>()?;
    if doubled == [3.0] { Ok(()) } else { candle_core::bail!("2 · 1 + 1 is {doubled:?} on this device") }
}

/// Loads each module of candle's kernels. The driver compiles what it has not compiled before.
pub fn load_kernels(opened: &Opened) -> Result<()> {
    const MODULES: [&kernels::Module; 11] = [
        &kernels::AFFINE,
        &kernels::BINARY,
        &kernels::CAST,
        &kernels::CONV,
        &kernels::FILL,
        &kernels::INDEXING,
        &kernels::QUANTIZED,
        &kernels::REDUCE,
        &kernels::SORT,
        &kernels::TERNARY,
        &kernels::UNARY,
    ];
    let Opened::Cuda(cuda) = opened else { return Ok(()) };
    for module in MODULES {
        // Any kernel of the module: candle loads a module by one of them.
        let kernel = module.ptx().split(".visible .entry ").nth(1).and_then(|rest| rest.split('(').next());
        let Some(kernel) = kernel else { candle_core::bail!("a module of candle has no kernel") };
        cuda.get_or_load_func(kernel, module)?;
    }
    Ok(())
}

/// The state of the GPU that was `opened`; `None` for the CPU.
pub fn state(opened: &Opened) -> Result<Option<Gpu>> {
    let Opened::Cuda(cuda) = opened else { return Ok(None) };
    let (free, total) = cuda.cuda_stream().context().mem_get_info().map_err(Error::wrap)?;
    Ok(Some(Gpu { visible: visible()?, free_mib: free as u64 >> 20, total_mib: total as u64 >> 20 }))
}
