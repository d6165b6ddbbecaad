//! The elements of a tensor in order, without a copy if they are contiguous on the CPU.

use candle_core::{DType, Device, Result, Storage, Tensor, WithDType, bail};
use float8::F8E4M3;
use half::{bf16, f16};

/// The first `Some` that `visit` returns for a place in row-major order and the id there. An `Err` if the dtype cannot hold ids.
pub fn each_id<R>(ids: &Tensor, visit: impl FnMut(usize, i64) -> Option<R>) -> Result<Option<R>> {
    fn first<T: WithDType + Into<i64>, R>(
        ids: &Tensor,
        mut visit: impl FnMut(usize, i64) -> Option<R>,
    ) -> Result<Option<R>> {
        slice(ids, |all: &[T]| all.iter().enumerate().find_map(|(place, &id)| visit(place, id.into())))
    }
    match ids.dtype() {
        DType::U8 => first::<u8, R>(ids, visit),
        DType::U32 => first::<u32, R>(ids, visit),
        DType::I64 => first::<i64, R>(ids, visit),
        other => bail!("is {}; candle accepts ids of u8, u32 and i64", other.as_str()),
    }
}

/// The first NaN or infinity in row-major order: its place and value.
pub fn first_not_finite(tensor: &Tensor) -> Result<Option<(usize, f64)>> {
    // Check whole blocks first: the compiler vectorizes that.
    fn first<T: WithDType>(
        tensor: &Tensor,
        finite: impl Fn(T) -> bool,
        wide: impl Fn(T) -> f64,
    ) -> Result<Option<(usize, f64)>> {
        const BLOCK: usize = 4096;
        slice(tensor, |all: &[T]| {
            let bad = |block: &[T]| !block.iter().fold(true, |fine, &element| fine & finite(element));
            let block = all.chunks(BLOCK).position(bad)?;
            let place = (block * BLOCK..all.len()).find(|&place| !finite(all[place]))?;
            Some((place, wide(all[place])))
        })
    }
    match tensor.dtype() {
        DType::F64 => first(tensor, f64::is_finite, |value| value),
        DType::F32 => first(tensor, f32::is_finite, f64::from),
        DType::F16 => first(tensor, f16::is_finite, f16::to_f64),
        DType::BF16 => first(tensor, bf16::is_finite, bf16::to_f64),
        #[cfg(not(few_dtypes))]
        // By path: candle has methods of the same name.
        DType::F8E4M3 => first(tensor, |value| F8E4M3::to_f64(&value).is_finite(), |value| F8E4M3::to_f64(&value)),
        DType::U8 | DType::U32 | DType::I64 => Ok(None),
        #[cfg(not(few_dtypes))]
        DType::I16 | DType::I32 => Ok(None),
        other => bail!("is {}, which cannot be read", other.as_str()),
    }
}

/// The result of `visit` for all elements in row-major order.
fn slice<T: WithDType, R>(tensor: &Tensor, visit: impl FnOnce(&[T]) -> Option<R>) -> Result<Option<R>> {
    let tensor = tensor.to_device(&Device::Cpu)?.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    match (&*storage, layout.contiguous_offsets()) {
        (Storage::Cpu(storage), Some((start, end))) => Ok(visit(&T::cpu_storage_as_slice(storage)?[start..end])),
        _ => bail!("is not contiguous on the CPU"),
    }
}
