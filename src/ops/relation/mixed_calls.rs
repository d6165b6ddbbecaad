//! Calls with one argument on another device: candle must refuse each.

use candle_core::{DType as Candle, Device, Module, ModuleT, Result, Tensor};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::OTHER_PLACE;
use crate::ops::support::other_device::{refused, there};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// The arguments of the calls: a matrix, one whose rows are blocks of quantized formats, vectors of a row's and of a column's length, ids, and a
/// mask; and a way to the other device.
struct Arguments<'a> {
    x: Tensor,
    blocks: Tensor,
    vector: Tensor,
    column: Tensor,
    rows: Tensor,
    ids: Tensor,
    mask: Tensor,
    moved: &'a dyn Fn(&Tensor) -> Result<Tensor>,
}

/// Makes the table of calls and their text in programs from one list.
macro_rules! calls {
    (|$($argument:ident),*| $($name:literal = $call:expr;)*) => {
        const NAMES: &[&str] = &[$($name),*];
        const SOURCE: &str = concat!(
            "{% set mixed %}\n",
            $("{% if call == \"", $name, "\" %}\n", stringify!($call), "\n{% endif %}\n",)*
            "{% endset %}\n\
             {% if \"x\" in mixed %}\nlet x = Tensor::new(&[[0f32, 1.0, 2.0], [3.0, 4.0, 5.0]], &device)?;\n{% endif %}\n\
             {% if \"vector\" in mixed %}\nlet vector = x.narrow(0, 0, 1)?.squeeze(0)?;\n{% endif %}\n\
             {% if \"column\" in mixed %}\nlet column = x.narrow(1, 0, 1)?.contiguous()?;\n{% endif %}\n\
             {% if \"rows\" in mixed %}\nlet rows = Tensor::new(&[1u32, 0], &device)?;\n{% endif %}\n\
             {% if \"ids\" in mixed %}\nlet ids = Tensor::new(&[[2u32], [0]], &device)?;\n{% endif %}\n\
             {% if \"mask\" in mixed %}\nlet mask = x.lt(2.5)?;\n{% endif %}\n\
             {% if \"blocks\" in mixed %}\nlet blocks = Tensor::ones((2, 32), DType::F32, &device)?;\n{% endif %}\n\
             let moved = |tensor: &Tensor| tensor.to_device(&Device::Cpu)?.to_device({{ there }});\n\
             let mixed = {{ mixed|trim }};\n\
             {% if cuda %}\nassert!(mixed.is_err());\n{% else %}\nmixed?;\n{% endif %}\n\
             Tensor::new(&[1u8], &device)?\n",
        );

        fn call(name: &str, arguments: Arguments) -> Result<Tensor> {
            let Arguments { $($argument),* } = arguments;
            match name {
                $($name => $call,)*
                _ => candle_core::bail!("there is no such call"),
            }
        }
    };
}

calls! {
    |x, blocks, vector, column, rows, ids, mask, moved|
    "add" = x.add(&moved(&x)?);
    "eq" = x.eq(&moved(&x)?);
    "matmul" = x.matmul(&moved(&x.t()?.contiguous()?)?);
    "conv1d" = x.unsqueeze(0)?.conv1d(&moved(&x.unsqueeze(0)?)?, 0, 1, 1, 1);
    "conv2d" = x.reshape((1, 2, 1, 3))?.conv2d(&moved(&x.reshape((1, 2, 1, 3))?)?, 0, 1, 1, 1);
    "conv_transpose1d" = x.unsqueeze(0)?.conv_transpose1d(&moved(&x.unsqueeze(1)?)?, 0, 0, 1, 1, 1);
    "conv_transpose2d" = x.reshape((1, 2, 1, 3))?.conv_transpose2d(&moved(&x.reshape((2, 1, 1, 3))?)?, 0, 0, 1, 1);
    "index_select" = x.index_select(&moved(&rows)?, 0);
    "gather" = x.gather(&moved(&ids)?, 1);
    "index_add of ids" = x.index_add(&moved(&rows)?, &x, 0);
    "index_add of values" = x.index_add(&rows, &moved(&x)?, 0);
    "scatter of ids" = x.scatter(&moved(&ids)?, &column, 1);
    "scatter of values" = x.scatter(&ids, &moved(&column)?, 1);
    "scatter_add of ids" = x.scatter_add(&moved(&ids)?, &column, 1);
    "scatter_add of values" = x.scatter_add(&ids, &moved(&column)?, 1);
    "where_cond if true" = mask.where_cond(&moved(&x)?, &x);
    "where_cond if false" = mask.where_cond(&x, &moved(&x)?);
    "cat" = Tensor::cat(&[x.clone(), moved(&x)?], 0);
    "slice_set" = x.copy()?.slice_set(&moved(&x)?, 0, 0).map(|()| x.clone());
    "rms_norm" = candle_nn::ops::rms_norm(&x, &moved(&vector)?, 1e-5);
    "layer_norm of weight" = candle_nn::ops::layer_norm(&x, &moved(&vector)?, &vector, 1e-5);
    "layer_norm of bias" = candle_nn::ops::layer_norm(&x, &vector, &moved(&vector)?, 1e-5);
    "rope of cos" = {
        let heads = x.narrow(1, 0, 2)?.reshape((1, 1, 2, 2))?;
        candle_nn::rotary_emb::rope(&heads, &moved(&column)?, &column)
    };
    "rope_i of sin" = {
        let heads = x.narrow(1, 0, 2)?.reshape((1, 1, 2, 2))?;
        candle_nn::rotary_emb::rope_i(&heads, &column, &moved(&column)?)
    };
    "batch_norm of the mean" = {
        let norm = candle_nn::BatchNorm::new(3, moved(&vector)?, vector.clone(), vector.clone(), vector, 1e-5)?;
        norm.forward_t(&x, false)
    };
    "batch_norm of the mean in training" = {
        let norm = candle_nn::BatchNorm::new(3, moved(&vector)?, vector.clone(), vector.clone(), vector, 1e-5)?;
        norm.forward_t(&x, true)
    };
    "batch_norm of the variance in training" = {
        let norm = candle_nn::BatchNorm::new(3, vector.clone(), moved(&vector)?, vector.clone(), vector, 1e-5)?;
        norm.forward_t(&x, true)
    };
    "group_norm of weight" = candle_nn::GroupNorm::new(moved(&vector)?, vector, 3, 1, 1e-5)?.forward(&x.unsqueeze(2)?);
    "prelu of weight" = candle_nn::PReLU::new(moved(&vector)?, false).forward(&x);
    "linear of bias" = candle_nn::Linear::new(x.clone(), Some(moved(&rows.to_dtype(x.dtype())?)?)).forward(&x);
    "embedding of ids" = candle_nn::Embedding::new(x, 3).forward(&moved(&rows)?);
    "cache of keys" = {
        let mut cache = candle_nn::kv_cache::Cache::new(0, 4);
        cache.append(&x)?;
        cache.append(&moved(&x)?).map(|()| x.clone())
    };
    "lstm of the state" = {
        let vb = candle_nn::VarBuilder::zeros(x.dtype(), x.device());
        let lstm = candle_nn::rnn::lstm(3, 3, candle_nn::rnn::LSTMConfig::default(), vb)?;
        let state = candle_nn::rnn::LSTMState::new(x.clone(), moved(&x)?);
        candle_nn::rnn::RNN::step(&lstm, &x, &state).map(|state| state.c().clone())
    };
    "quantized matmul of weight" = {
        let weight = candle_core::quantized::QTensor::quantize(&moved(&blocks)?, candle_core::quantized::GgmlDType::Q4_0)?;
        candle_core::quantized::QMatMul::from_qtensor(weight)?.forward(&blocks)
    };
    "quantized matmul of x" = {
        let weight = candle_core::quantized::QTensor::quantize(&blocks, candle_core::quantized::GgmlDType::Q4_0)?;
        candle_core::quantized::QMatMul::from_qtensor(weight)?.forward(&moved(&blocks)?)
    };
}

/// A call with one argument moved to the CPU or, by the param `to`, to the second device: an `Err`. The output is a 1.
pub static MIXED_CALLS: Op = Op {
    name: "relation.mixed_calls",
    covers: &["Tensor::to_device"],
    // Nothing depends on the dtype of a case.
    support: &Support::both("", &DType::ALL),
    inputs: &[],
    params: &[ParamSpec::word("call", NAMES, "The call, and which argument is elsewhere."), OTHER_PLACE],
    generate: &|draw| {
        let name = *draw.choose(NAMES)?;
        let case = Case::default().param("call", name);
        // The CPU is noticed by every backend; another CUDA device only by candle's own check.
        Ok(if draw.one_in(2)? { case.param("to", "second") } else { case })
    },
    contract: &|_| Contract::accepts(DType::U8, &[1]),
    call: &|here| {
        let device = here.device;
        let x = Tensor::new(&[[0f32, 1.0, 2.0], [3.0, 4.0, 5.0]], device)?;
        let elsewhere = there(here)?;
        let arguments = Arguments {
            vector: x.narrow(0, 0, 1)?.squeeze(0)?,
            column: x.narrow(1, 0, 1)?.contiguous()?,
            rows: Tensor::new(&[1u32, 0], device)?,
            ids: Tensor::new(&[[2u32], [0]], device)?,
            mask: x.lt(2.5)?,
            blocks: Tensor::ones((2, 32), Candle::F32, device)?,
            // By the CPU: copies between two CUDA devices have an op of their own.
            moved: &|tensor| tensor.to_device(&Device::Cpu)?.to_device(&elsewhere),
            x,
        };
        refused(here, call(here.case.text("call"), arguments))?;
        Ok(vec![Tensor::new(&[1u8], device)?])
    },
    source: SOURCE,
    // Programs for PyTorch use one device.
    torch: "",
    reference: Some(&|_| vec![ArrayD::from_elem(IxDyn(&[1]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/storage.rs:52-70: Error::DeviceMismatchBinaryOp; PyTorch expects all tensors on one device",
};
