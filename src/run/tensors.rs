//! Converts plain tensors to candle tensors and back.

use std::collections::BTreeMap;

use candle_core::{DType as Candle, Device, Result, Tensor, WithDType};
use float8::F8E4M3;
use half::{bf16, f16};

use crate::case::{Case, Shared};
use crate::ops::{Devices, sequence, threads};
use crate::tensor::{DType, Step, Tensor as Data, Value};

/// The buffer of each input that lies in one with another, by name: parts of what is uploaded once.
pub fn shared_buffers(case: &Case, devices: &Devices) -> Result<BTreeMap<String, Tensor>> {
    let mut buffers = BTreeMap::new();
    for Shared { whole, parts, inside } in case.shared() {
        // Those that share a buffer are inputs of one step.
        let device = devices.of(sequence::device_of(case, &parts[0].0));
        let make = || {
            #[cfg(feature = "cuda")]
            if device.is_cuda() {
                super::hidden::hide_around(&inside, whole.shape[0], whole.dtype.size());
            }
            #[cfg(not(feature = "cuda"))]
            drop(inside);
            buffer(&whole, device)
        };
        let whole = threads::on(sequence::thread_of(case, &parts[0].0), make)?;
        for (name, start, length) in parts {
            let data = &case.inputs[&name];
            let shape = data.view.buffer_shape(&data.stored_shape());
            buffers.insert(name, whole.narrow(0, start, length)?.reshape(shape)?);
        }
    }
    Ok(buffers)
}

/// The contiguous buffer behind `data`: shaped as `data` is stored, or as [`crate::tensor::View::buffer_shape`] if it has a view.
pub fn buffer(data: &Data, device: &Device) -> Result<Tensor> {
    let (values, shape) = data.buffer();
    #[cfg(feature = "cuda")]
    if device.is_cuda() && !data.view.is_whole_buffer() {
        super::hidden::hide_around(&data.buffer_positions(), values.len(), data.dtype.size());
    }
    upload(data.dtype, &values, &shape, device)
}

/// `data` as a candle tensor on a device.
pub fn to_candle(data: &Data, device: &Device) -> Result<Tensor> {
    view(&buffer(data, device)?, data)
}

/// The view of `buffer` that `data` describes, made with candle's own view ops.
pub fn view(buffer: &Tensor, data: &Data) -> Result<Tensor> {
    let stored = stored_elements(buffer, data)?;
    if data.view.broadcast.is_empty() { Ok(stored) } else { stored.broadcast_as(data.shape.as_slice()) }
}

/// The stored elements of `buffer` in their logical order: all of [`view`] but the broadcast. Of a gradient of the
/// buffer it shows the part that belongs to the view.
pub fn stored_elements(buffer: &Tensor, data: &Data) -> Result<Tensor> {
    data.steps().into_iter().try_fold(buffer.clone(), |tensor, step| match step {
        Step::Narrow(dim, start, len) => tensor.narrow(dim, start, len),
        Step::First(dim) => tensor.narrow(dim, 0, 1)?.squeeze(dim),
        Step::Permute(order) => tensor.permute(order),
    })
}

fn upload(dtype: DType, values: &[Value], shape: &[usize], device: &Device) -> Result<Tensor> {
    fn make<T: WithDType>(
        values: &[Value],
        shape: &[usize],
        device: &Device,
        convert: impl Fn(Value) -> T,
    ) -> Result<Tensor> {
        Tensor::from_vec(values.iter().map(|&value| convert(value)).collect::<Vec<T>>(), shape, device)
    }
    match dtype {
        DType::U8 => make(values, shape, device, |value| value.as_i64() as u8),
        DType::U32 => make(values, shape, device, |value| value.as_i64() as u32),
        #[cfg(not(few_dtypes))]
        DType::I16 => make(values, shape, device, |value| value.as_i64() as i16),
        #[cfg(not(few_dtypes))]
        DType::I32 => make(values, shape, device, |value| value.as_i64() as i32),
        DType::I64 => make(values, shape, device, Value::as_i64),
        DType::F16 => make(values, shape, device, |value| f16::from_f64(value.as_f64())),
        DType::Bf16 => make(values, shape, device, |value| bf16::from_f64(value.as_f64())),
        DType::F32 => make(values, shape, device, |value| value.as_f64() as f32),
        DType::F64 => make(values, shape, device, Value::as_f64),
        #[cfg(not(few_dtypes))]
        DType::F8e4m3 => make(values, shape, device, |value| F8E4M3::from_f64(value.as_f64())),
        #[cfg(few_dtypes)]
        DType::I16 | DType::I32 | DType::F8e4m3 => candle_core::bail!("this candle lacks the dtype {dtype}"),
    }
}

/// The values of a candle tensor, contiguous.
pub fn read(tensor: &Tensor) -> Result<Data> {
    fn download<T: WithDType>(tensor: &Tensor, convert: impl Fn(T) -> Value) -> Result<Vec<Value>> {
        // To the host first: making a view contiguous must not run a kernel on the device.
        let tensor = tensor.to_device(&Device::Cpu)?.flatten_all()?;
        Ok(tensor.to_vec1::<T>()?.into_iter().map(convert).collect())
    }
    let (dtype, values) = match tensor.dtype() {
        Candle::U8 => (DType::U8, download(tensor, |v: u8| Value::Int(v.into()))?),
        Candle::U32 => (DType::U32, download(tensor, |v: u32| Value::Int(v.into()))?),
        #[cfg(not(few_dtypes))]
        Candle::I16 => (DType::I16, download(tensor, |v: i16| Value::Int(v.into()))?),
        #[cfg(not(few_dtypes))]
        Candle::I32 => (DType::I32, download(tensor, |v: i32| Value::Int(v.into()))?),
        Candle::I64 => (DType::I64, download(tensor, Value::Int)?),
        Candle::F16 => (DType::F16, download(tensor, |v: f16| Value::Float(v.to_f64()))?),
        Candle::BF16 => (DType::Bf16, download(tensor, |v: bf16| Value::Float(v.to_f64()))?),
        Candle::F32 => (DType::F32, download(tensor, |v: f32| Value::Float(v.into()))?),
        Candle::F64 => (DType::F64, download(tensor, Value::Float)?),
        #[cfg(not(few_dtypes))]
        // By path: as a method, `to_f64` would be candle's `WithDType::to_f64`, which recurses forever.
        Candle::F8E4M3 => (DType::F8e4m3, download(tensor, |v: F8E4M3| Value::Float(F8E4M3::to_f64(&v)))?),
        other => candle_core::bail!("a tensor of dtype {other:?} has no plain equivalent"),
    };
    Ok(Data::new(dtype, tensor.dims().to_vec(), values))
}
