//! Products of mixtures of experts.

use candle_nn::moe;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::call::candle_dtype;
use crate::ops::support::products::ggml::{
    BLOCKS, EXPERTS, FORMAT, Parts, draw_blocks, draw_format, elements, format_of, matrix_shape, product, quantized,
    shape_of_experts, without_matrix, without_scale,
};
use crate::ops::support::products::routing::{
    EXPERT_IDS, PREFILL, SCALES, TOKEN_IDS, TOPK, draw_pairs, products, routed,
};
use crate::ops::support::reference_inputs::ReferenceInputs;
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::{DType, Support, Tensor};

/// `moe_gemm` of tokens `x (T, K)` and experts `(E, N, K)`: the product of each token and each of its experts.
pub static MOE_GEMM: Op = Op {
    name: "op.moe_gemm",
    covers: &["moe::moe_gemm"],
    support: &Support { of: "x", cpu: &[], cuda: &[DType::F16, DType::Bf16] },
    inputs: &[
        InputSpec::new("x", "(T, K): a row for each token or, with scales, for each pair"),
        InputSpec::new("experts", "(E, N, K): a matrix for each expert"),
        TOKEN_IDS,
        EXPERT_IDS,
        SCALES,
    ],
    params: &[TOPK, PREFILL],
    generate: &|draw| {
        let dtype = draw.dtype(MOE_GEMM.support)?;
        let (experts, width, inner) =
            (draw.between(1, 4)?, *draw.choose(&[1, 2, 3, 8, 33])?, *draw.choose(&[8, 16, 24, 32])?);
        let (case, rows) = draw_pairs(draw, Case::default(), experts)?;
        let (x, weights) =
            (draw.ordinary_tensor(dtype, &[rows, inner])?, draw.ordinary_tensor(dtype, &[experts, width, inner])?);
        let (x, weights) = if draw.one_in(6)? { (x, weights) } else { (x.contiguous(), weights.contiguous()) };
        Ok(case.input("x", x).input("experts", weights))
    },
    contract: &|case| {
        let (Some(x), Some(experts)) = (case.tensor("x"), case.tensor("experts")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        let (&[_, inner], &[count, width, last]) = (x.shape.as_slice(), experts.shape.as_slice()) else {
            return Contract::Rejects(&rule::RANK);
        };
        if inner != last {
            return Contract::Rejects(&rule::SHAPES);
        }
        match routed(case, count, width, x.dtype) {
            Contract::Accepts { .. } if !MOE_GEMM.support.cuda.contains(&x.dtype) => {
                Contract::Rejects(&rule::EXPERTS_HALF)
            }
            Contract::Accepts { .. } if x.dtype != experts.dtype => Contract::Rejects(&rule::MIXED),
            other => other,
        }
    },
    call: &|call| {
        on_cuda(call)?;
        let (scales, topk) = (call.optional("scales").cloned(), call.size("topk"));
        let (tokens, of_tokens) = (call.tensor("token_ids")?, call.tensor("expert_ids")?);
        let prefill = call.case.int("prefill") == 1;
        Ok(vec![moe::moe_gemm(call.tensor("x")?, call.tensor("experts")?, &scales, tokens, of_tokens, topk, prefill)?])
    },
    source: r#"
        {% set scales = "&Some(scales)" if inputs.scales else "&None" %}
        {% set prefill = prefill == 1 %}
        candle_nn::moe::moe_gemm(&x, &experts, {{ scales }}, &token_ids, &expert_ids, {{ topk }}, {{ prefill }})?
    "#,
    // PyTorch's grouped products take other arguments.
    torch: "",
    reference: Some(&|inputs| {
        let experts = inputs.array("experts");
        let (width, inner) = (experts.shape()[1], experts.shape()[2]);
        let weights: Vec<Num> = experts.iter().copied().collect();
        let of = |x: &[Num], expert: usize| {
            let rows = weights[expert * width * inner..][..width * inner].chunks(inner);
            rows.map(|row| Num::dot(x.iter().copied().zip(row.iter().copied()))).collect()
        };
        vec![products(inputs, of)]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/moe.rs:10-145 and candle-kernels/src/moe/moe_wmma.cu:47-63 (the shapes of their comments); \
              torch._grouped_mm: each row times the matrix of its group; the sibling `QTensor::indexed_gemv`: \"expert index \
              out of range\"",
};

/// `moe_gemm_gguf` of tokens `x (T, K)` and experts in a GGML format.
pub static MOE_GEMM_GGUF: Op = Op {
    name: "op.moe_gemm_gguf",
    covers: &["moe::moe_gemm_gguf"],
    support: &Support { of: "x", cpu: &[], cuda: &[DType::F32] },
    inputs: &[
        InputSpec::new("x", "(T, K): a row for each token or, with scales, for each pair"),
        BLOCKS,
        TOKEN_IDS,
        EXPERT_IDS,
        SCALES,
    ],
    params: &[
        FORMAT,
        ParamSpec::size("experts", 1, "The number of experts, which share the rows of the blocks."),
        TOPK,
        PREFILL,
        ParamSpec::word("dtype", &["f16", "bf16"], "The dtype in which the kernel for many tokens multiplies."),
    ],
    generate: &|draw| {
        let format = draw_format(draw)?;
        let (experts, rows, blocks) = if draw.one_in(24)? {
            // Rows that need more shared memory than a launch has: those of the down projection of Llama 3 70B.
            (1, 1, 28_672 / format.block)
        } else {
            (draw.between(1, 3)?, *draw.choose(&[1, 2, 5, 8])?, draw.between(1, 512 / format.block)?)
        };
        let (case, tokens) = draw_pairs(draw, Case::default(), experts)?;
        let dtype = draw.dtype(MOE_GEMM_GGUF.support)?;
        let x = draw.ordinary_tensor(dtype, &[tokens, blocks * format.block])?;
        let case = case.input("x", if draw.one_in(6)? { x } else { x.contiguous() });
        let case = case.input("blocks", draw_blocks(draw, format, experts * rows, blocks)?);
        let case = case.param("format", format.name).param("experts", experts);
        Ok(case.param("dtype", *draw.choose(&["f16", "bf16"])?))
    },
    contract: &|case| {
        let (Some([count, width, inner]), Some(x)) = (shape(case), case.tensor("x")) else {
            return without_matrix(case);
        };
        if x.shape.len() != 2 {
            return Contract::Rejects(&rule::RANK);
        }
        if x.shape[1] != inner {
            return Contract::Rejects(&rule::SHAPES);
        }
        match (routed(case, count, width, DType::F32), without_scale(case)) {
            (Contract::Accepts { .. }, _) if x.dtype != DType::F32 => Contract::Rejects(&rule::ACTIVATIONS),
            (Contract::Accepts { .. }, Some(why)) => Contract::Unspecified(why),
            (Contract::Accepts { .. }, None) if !within_halves(case) => Contract::Unspecified(why::BEYOND_SCALES),
            (other, _) => {
                let has_kernel = EXPERTS.iter().any(|format| format.name == format_of(case).name);
                other.may_refuse(!has_kernel, why::FORMAT)
            }
        }
    },
    call: &|call| {
        on_cuda(call)?;
        let experts = quantized(call.case, call.tensor("blocks")?, &shape_of_experts(call.case))?;
        let (scales, topk) = (call.optional("scales").cloned(), call.size("topk"));
        let (tokens, of_tokens) = (call.tensor("token_ids")?, call.tensor("expert_ids")?);
        let (prefill, dtype) = (call.case.int("prefill") == 1, candle_dtype(halves(call.case)));
        let x = call.tensor("x")?;
        Ok(vec![moe::moe_gemm_gguf(x, &experts, &scales, tokens, of_tokens, topk, prefill, dtype)?])
    },
    source: r#"
        {% set rows = inputs.blocks.shape[0] %}
        {% include "quantized" %}
        let (topk, prefill, dtype) = ({{ topk }}, {{ prefill == 1 }}, {{ dtype|dtype }});
        let scales = {{ "Some(scales)" if inputs.scales else "None" }};
        candle_nn::moe::moe_gemm_gguf(&x, &matrix, &scales, &token_ids, &expert_ids, topk, prefill, dtype)?
    "#,
    // PyTorch lacks these formats.
    torch: "",
    reference: Some(&|inputs| {
        let [_, width, inner] = shape(inputs.case).unwrap_or([0, 0, 1]);
        let (weights, prefill) = (elements(inputs), inputs.case.int("prefill") == 1);
        let unit = halves(inputs.case).unit_roundoff();
        let of = |x: &[Num], expert: usize| {
            let rows = weights[expert * width * inner..][..width * inner].chunks(inner);
            let row = |row| {
                let exact = product(format_of(inputs.case), x, row);
                if prefill { Num { error: in_halves(x, row, unit), ..exact } } else { exact }
            };
            rows.map(row).collect()
        };
        vec![products(inputs, of)]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-nn/src/moe.rs:170-339 and candle-kernels/src/moe/moe_gguf.cu:24-51, moe_wmma_gguf.cu (the shapes of \
              their comments); llama.cpp `ggml_mul_mat_id`; as for op.moe_gemm and quantized.matmul",
};

/// Whether the kernel for many tokens, which multiplies in the dtype that the caller names, can hold every operand.
fn within_halves(case: &Case) -> bool {
    let largest = halves(case).max();
    let fits = |value: f64| value.abs() <= largest;
    let x = case.tensor("x").map(Tensor::floats).unwrap_or_default();
    case.int("prefill") == 0
        || x.into_iter().all(fits) && elements(&ReferenceInputs::new(case)).into_iter().map(Parts::magnitude).all(fits)
}

/// An `Err` on a CPU, where candle has these functions in a build with CUDA alone; `op.moe_gemm_on_cpu` has the calls there.
fn on_cuda(call: &Call) -> candle_core::Result<()> {
    if call.device.is_cpu() {
        candle_core::bail!("only implemented for the cuda backend");
    }
    Ok(())
}

/// The shape of the experts; `None` if the rows of the blocks are not those of as many experts.
fn shape(case: &Case) -> Option<[usize; 3]> {
    let ([rows, columns], experts) = (matrix_shape(case)?, case.size("experts"));
    (experts > 0 && rows % experts == 0).then(|| [experts, rows / experts, columns])
}

/// The dtype in which the kernel for many tokens multiplies.
fn halves(case: &Case) -> DType {
    if case.text("dtype") == "bf16" { DType::Bf16 } else { DType::F16 }
}

/// The error of a product of activations and weights that are rounded to halves.
fn in_halves(x: &[Num], weights: &[Parts], unit: f64) -> f64 {
    let share = |(x, weight): (&Num, &Parts)| x.value.abs() * (4.0 * unit * weight.magnitude() + weight.error);
    x.iter().zip(weights).map(share).sum::<f64>() + f64::from(f32::MIN_POSITIVE)
}
