//! `causal_decode_f32_interleaved`: one step of decoding on the CPU.

use candle_nn::attention::cpu_flash::causal;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::products::attention::weighted;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// One step of decoding, `q (H, D)` with keys and values side by side in `kv (L, HK, 2 D)`.
pub static CAUSAL_DECODE_F32_INTERLEAVED: Op = Op {
    name: "attention.causal_decode_f32_interleaved",
    covers: &["attention::cpu_flash::causal::causal_decode_f32_interleaved"],
    support: &Support::both("q", &[DType::F32]),
    inputs: &[InputSpec::new("q", "(H, D): the queries"), InputSpec::new("kv", "(L, HK, 2 D): keys before values")],
    params: &[ParamSpec::float("scale", 1.0, "The scale of the scores.")],
    generate: &|draw| {
        let dtype = draw.dtype(CAUSAL_DECODE_F32_INTERLEAVED.support)?;
        let (heads, repeat, width) = (draw.between(1, 3)?, draw.between(1, 3)?, draw.positive()?);
        let q = draw.tensor(dtype, &[heads * repeat, width])?;
        let kv = [draw.reduced()?, heads, 2 * width];
        let case = Case::default().input("q", q).input("kv", draw.tensor(dtype, &kv)?);
        Ok(case.param("scale", *draw.choose(&[1.0, 0.5, 0.125])?))
    },
    contract: &|case| {
        let (Some(q), Some(kv)) = (case.tensor("q"), case.tensor("kv")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        // The function takes slices and sizes: a call cannot express shapes that do not fit.
        let fits = q.shape.len() == 2 && kv.shape.len() == 3 && kv.shape[2] == 2 * q.shape[1];
        if !fits || q.shape.contains(&0) || kv.shape.contains(&0) || q.shape[0] % kv.shape[1] != 0 {
            return Contract::Unspecified(why::NO_CALL);
        }
        if q.dtype != DType::F32 || kv.dtype != DType::F32 || !case.float("scale").is_finite() {
            return Contract::Unspecified(why::NO_CALL);
        }
        Contract::accepts(q.dtype, &[q.shape[0], 1, q.shape[1]])
    },
    call: &|call| {
        let (q, kv) = (call.tensor("q")?, call.tensor("kv")?);
        let ((heads, width), (length, groups, both)) = (q.dims2()?, kv.dims3()?);
        if both != 2 * width || groups == 0 || heads % groups != 0 {
            candle_core::bail!("shapes that slices cannot express");
        }
        let (q, kv) = (q.flatten_all()?.to_vec1::<f32>()?, kv.flatten_all()?.to_vec1::<f32>()?);
        let scale = call.case.float("scale") as f32;
        Ok(vec![causal::causal_decode_f32_interleaved(&q, &kv, heads, groups, width, length, scale)?])
    },
    source: r"
        {% set (heads, width), (length, groups, both) = inputs.q.shape, inputs.kv.shape %}
        let q = q.flatten_all()?.to_vec1::<f32>()?;
        let kv = kv.flatten_all()?.to_vec1::<f32>()?;
        candle_nn::attention::cpu_flash::causal::causal_decode_f32_interleaved(
            &q, &kv, {{ heads }}, {{ groups }}, {{ width }}, {{ length }}, {{ scale|f32 }},
        )?
    ",
    // PyTorch has no call of this form.
    torch: "",
    reference: Some(&|inputs| {
        let (q, kv) = (inputs.array("q"), inputs.array("kv"));
        let (heads, width, repeat) = (q.shape()[0], q.shape()[1], q.shape()[0] / kv.shape()[1]);
        let scale = Num::exact(f64::from(inputs.case.float("scale") as f32));
        let mut out = ArrayD::from_elem(IxDyn(&[heads, 1, width]), Num::exact(0.0));
        for head in 0..heads {
            let key = |j: usize, t: usize| kv[[j, head / repeat, t]];
            let score = |j| Num::sum((0..width).map(|t| q[[head, t]] * key(j, t))) * scale;
            let scores: Vec<_> = (0..kv.shape()[0]).map(|j| (j, score(j))).collect();
            for (t, value) in weighted(&scores, width, |j, t| key(j, width + t)).into_iter().enumerate() {
                out[[head, 0, t]] = value;
            }
        }
        vec![out]
    }),
    ulps: 8.0,
    differentiable: &[],
    promise: "candle-nn/src/attention/cpu_flash/causal.rs:383-388 (the layout); \
              torch.nn.functional.scaled_dot_product_attention of one query",
};
