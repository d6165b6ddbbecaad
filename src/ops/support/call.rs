//! The arguments of a call as candle sees them.

use std::collections::{BTreeMap, HashMap};

use candle_core::{Device, Error, Result, Tensor};
use candle_nn::VarBuilder;

use super::devices::Devices;
use crate::case::Case;
use crate::tensor::DType;

/// The arguments of a call, on the device that it runs on.
#[derive(Debug)]
pub struct Call<'a> {
    /// The case, which has the params.
    #[doc(hidden)]
    pub case: &'a Case,
    /// The inputs by name.
    pub tensors: BTreeMap<&'a str, Tensor>,
    /// The device, for tensors that the call creates.
    pub device: &'a Device,
    /// All devices of the case.
    #[doc(hidden)]
    pub devices: &'a Devices,
}

impl Call<'_> {
    /// The input of this name. An `Err` where the case lacks it: contracts refuse such a case.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        self.tensors.get(name).ok_or_else(|| Error::Msg(format!("the case has no input `{name}`")))
    }

    /// The input of this name, if the case has it.
    pub fn optional(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// All inputs that are floats as the weights of a module, by their names: `fc.weight`.
    pub fn weights(&self) -> VarBuilder<'static> {
        let floats = self.tensors.iter().filter(|(_, tensor)| tensor.dtype().is_float());
        let tensors: HashMap<String, Tensor> =
            floats.map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
        let dtype = tensors.values().next().map_or(candle_core::DType::F32, Tensor::dtype);
        VarBuilder::from_tensors(tensors, dtype, self.device)
    }

    /// A number among the params.
    pub fn number(&self, name: &str) -> f64 {
        self.case.float(name)
    }

    /// A switch among the params.
    pub fn flag(&self, name: &str) -> bool {
        self.case.int(name) != 0
    }

    /// A param that candle takes as `usize`; in an op of your own, also a size of a shape, by its name.
    pub fn size(&self, name: &str) -> usize {
        self.case.size(name)
    }
}

/// candle's dtype of this dtype of cases.
pub fn candle_dtype(dtype: DType) -> candle_core::DType {
    match dtype {
        DType::U8 => candle_core::DType::U8,
        DType::U32 => candle_core::DType::U32,
        #[cfg(not(few_dtypes))]
        DType::I16 => candle_core::DType::I16,
        #[cfg(not(few_dtypes))]
        DType::I32 => candle_core::DType::I32,
        DType::I64 => candle_core::DType::I64,
        DType::F16 => candle_core::DType::F16,
        DType::Bf16 => candle_core::DType::BF16,
        DType::F32 => candle_core::DType::F32,
        DType::F64 => candle_core::DType::F64,
        #[cfg(not(few_dtypes))]
        DType::F8e4m3 => candle_core::DType::F8E4M3,
        // No tensor has it. A case that asks for it by a param does not reach a worker of such a candle.
        #[cfg(few_dtypes)]
        DType::I16 | DType::I32 | DType::F8e4m3 => panic!("this candle lacks the dtype {dtype}"),
    }
}

/// The dtype of cases for this dtype of candle, if cases have it.
pub fn case_dtype(dtype: candle_core::DType) -> Option<DType> {
    let lacking = |own: &DType| cfg!(few_dtypes) && DType::RECENT.contains(own);
    DType::ALL.into_iter().filter(|own| !lacking(own)).find(|&own| candle_dtype(own) == dtype)
}

/// The dtype of a candle tensor; `f32` where cases lack it.
pub fn dtype_of(tensor: &Tensor) -> DType {
    case_dtype(tensor.dtype()).unwrap_or(DType::F32)
}

/// `$body` with the Rust type of a dtype as `$T`.
macro_rules! typed {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::tensor::DType::U8 => $crate::ops::support::call::with_type!($T = u8, $body),
            $crate::tensor::DType::U32 => $crate::ops::support::call::with_type!($T = u32, $body),
            #[cfg(not(few_dtypes))]
            $crate::tensor::DType::I16 => $crate::ops::support::call::with_type!($T = i16, $body),
            #[cfg(not(few_dtypes))]
            $crate::tensor::DType::I32 => $crate::ops::support::call::with_type!($T = i32, $body),
            $crate::tensor::DType::I64 => $crate::ops::support::call::with_type!($T = i64, $body),
            other => $crate::ops::support::call::typed_float!(other, $T => $body),
        }
    };
}

/// `$body` with the Rust type of a float dtype as `$T`, or with `f32` for any other dtype.
macro_rules! typed_float {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::tensor::DType::F64 => $crate::ops::support::call::with_type!($T = f64, $body),
            $crate::tensor::DType::F16 => $crate::ops::support::call::with_type!($T = half::f16, $body),
            $crate::tensor::DType::Bf16 => $crate::ops::support::call::with_type!($T = half::bf16, $body),
            #[cfg(not(few_dtypes))]
            $crate::tensor::DType::F8e4m3 => $crate::ops::support::call::with_type!($T = float8::F8E4M3, $body),
            _ => $crate::ops::support::call::with_type!($T = f32, $body),
        }
    };
}

/// `$body` with `$type` as `$T`.
macro_rules! with_type {
    ($T:ident = $type:ty, $body:expr) => {{
        type $T = $type;
        $body
    }};
}

pub(crate) use {typed, typed_float, with_type};
