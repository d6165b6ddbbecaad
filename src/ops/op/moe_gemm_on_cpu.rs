//! Products of mixtures of experts on the CPU, which candle has for CUDA devices only.

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType as Candle, Device, Tensor};
use candle_nn::moe;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec};
use crate::number::Num;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `moe_gemm` and `moe_gemm_gguf` of tensors on the CPU: 1 for each call that is an `Err`.
pub static MOE_GEMM_ON_CPU: Op = Op {
    name: "op.moe_gemm_on_cpu",
    covers: &["moe::moe_gemm", "moe::moe_gemm_gguf"],
    support: &Support::both("x", &DType::ALL),
    inputs: &[InputSpec::new("x", "a matrix")],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(MOE_GEMM_ON_CPU.support)?;
        let tokens = draw.between(1, 3)?;
        Ok(Case::default().input("x", draw.tensor(dtype, &[tokens, 32])?))
    },
    contract: &|case| match case.tensor("x") {
        Some(x) if x.shape.is_empty() => Contract::Unspecified(why::NO_CALL),
        Some(_) => Contract::accepts(DType::U8, &[2]),
        None => Contract::Rejects(&rule::SHAPES),
    },
    call: &|call| {
        let x = call.tensor("x")?.to_device(&Device::Cpu)?;
        let ids = Tensor::zeros(x.dim(0)?, Candle::U32, &Device::Cpu)?;
        let experts = Tensor::zeros((1, 2, 32), Candle::F32, &Device::Cpu)?;
        let plain = moe::moe_gemm(&x, &experts.to_dtype(x.dtype())?, &None, &ids, &ids, 1, false);
        let quantized = QTensor::quantize(&experts, GgmlDType::Q8_0)?;
        let quantized = moe::moe_gemm_gguf(&x, &quantized, &None, &ids, &ids, 1, false, Candle::F32);
        let refused = [u8::from(plain.is_err()), u8::from(quantized.is_err())];
        Ok(vec![Tensor::new(&refused, &Device::Cpu)?])
    },
    source: r"
        let ids = Tensor::zeros({{ inputs.x.shape[0] }}, DType::U32, &Device::Cpu)?;
        let experts = Tensor::zeros((1, 2, 32), DType::F32, &Device::Cpu)?;
        let x = x.to_device(&Device::Cpu)?;
        let plain = candle_nn::moe::moe_gemm(&x, &experts.to_dtype(x.dtype())?, &None, &ids, &ids, 1, false);
        let quantized = candle_core::quantized::GgmlDType::Q8_0;
        let quantized = candle_core::quantized::QTensor::quantize(&experts, quantized)?;
        let quantized = candle_nn::moe::moe_gemm_gguf(&x, &quantized, &None, &ids, &ids, 1, false, DType::F32);
        Tensor::new(&[u8::from(plain.is_err()), u8::from(quantized.is_err())], &Device::Cpu)?
    ",
    // The outputs are candle's refusals.
    torch: "",
    reference: Some(&|_| vec![ArrayD::from_elem(IxDyn(&[2]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/moe.rs:157-168, 342-357 (candle's messages alone): 'only implemented for the cuda backend'",
};
