//! Sampling by `gumbel_softmax`.

use candle_core::{DType as Candle, Result, Tensor};
use ndarray::ArrayD;

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::elements::elementwise::{FLOATS, of_floats};
use crate::ops::support::elements::random_facts::{all_hold, facts, facts_contract, floats};
use crate::ops::support::moving::ids::dim;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{Fill, Value, Values};

/// `gumbel_softmax(x, temperature, dim)`: random ids along `dim`; at the temperature 0 the ids of largest elements.
pub static GUMBEL_SOFTMAX: Op = Op {
    name: "random.gumbel_softmax",
    covers: &["sampling::gumbel_softmax"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[DIM, ParamSpec::float("temperature", 1.0, "0 for the largest element.")],
    generate: &|draw| {
        let dtype = draw.dtype(FLOATS)?;
        let mut shape: Vec<usize> = draw.open_shape(0, 2)?.into_iter().map(|n| n.max(1)).collect();
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?.max(1));
        let temperature = *draw.choose(&[0.0, 1.0, 0.5, 2.0, -1.0])?;
        let mut x = draw.tensor(dtype, &shape)?;
        if x.values.listed().iter().any(|value| value.as_f64().is_nan()) {
            x.values = Values::Fill(Fill::constant(Value::Float(0.0)));
        }
        Ok(Case::default().input("x", x).param("dim", dim).param("temperature", temperature))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        if x.shape[dim] == 0 {
            return Contract::Rejects(&rule::EMPTY_EXTREME);
        }
        let nan = x.values.listed().iter().any(|value| value.as_f64().is_nan());
        if nan && case.float("temperature") <= 0.0 {
            return Contract::Unspecified("the largest of NaN, which is judged as argmax");
        }
        facts_contract(of_floats(case))
    },
    call: &|call| {
        let (x, dim, temperature) = (call.tensor("x")?, call.size("dim"), call.case.float("temperature"));
        let ids = candle_nn::sampling::gumbel_softmax(x, temperature, dim)?;
        sampled(x, &ids, dim, temperature)
    },
    source: r#"
        let ids = candle_nn::sampling::gumbel_softmax(&x, {{ temperature }}, {{ dim }})?;
        println!("{ids}");
    "#,
    // PyTorch draws other numbers.
    torch: "",
    reference: Some(&all_hold),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/sampling.rs; Jang et al. (2017): the limit for a temperature of 0 is the argmax, which llama.cpp's \
              sampler takes for one below 0, too",
};

/// The facts about sampled ids: dtype and shape; in range; at the temperature 0, those of largest elements.
fn sampled(x: &Tensor, ids: &Tensor, dim: usize, temperature: f64) -> Result<Vec<Tensor>> {
    let mut shape = x.dims().to_vec();
    let size = shape.remove(dim);
    let well_formed = ids.dims() == shape && ids.dtype() == Candle::U32;
    let ids: Vec<u32> = ids.flatten_all()?.to_vec1()?;
    let in_range = ids.iter().all(|&id| (id as usize) < size);
    let x = ArrayD::from_shape_vec(x.dims(), floats(x)?).map_err(candle_core::Error::wrap)?;
    let largest = x.lanes(ndarray::Axis(dim)).into_iter().zip(&ids).all(|(lane, &id)| {
        let most = lane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        lane.get(id as usize).is_some_and(|&value| value == most)
    });
    let samples = temperature.is_nan() || temperature > 0.0;
    facts([well_formed, in_range, samples || largest])
}
