//! One step of training.

use candle_core::{Module, Var};
use candle_nn::{Linear, Optimizer, SGD, loss};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::products::matrix_products::multiply;
use crate::ops::{Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{View, product};

/// `Linear`, `mse`, its gradients, a step of `SGD`, and `Linear` again: the loss before, the weights after, and what
/// they predict.
pub static TRAINING_STEP: Op = Op {
    name: "relation.training_step",
    covers: &["Linear", "loss::mse", "SGD", "Optimizer::step"],
    support: FLOATS,
    inputs: &[
        InputSpec::new("x", "(N, I)"),
        InputSpec::new("weight", "(O, I)"),
        InputSpec::new("bias", "(O)"),
        InputSpec::new("target", "(N, O)"),
    ],
    params: &[ParamSpec::float("lr", 0.1, "The learning rate.")],
    generate: &|draw| {
        let dtype = draw.dtype(TRAINING_STEP.support)?;
        let (batch, inner, outer) = (draw.positive()?, draw.positive()?, draw.positive()?);
        let x = draw.tensor_in(dtype, &[batch, inner], View::default())?;
        let case = Case::default().input("x", x);
        let case = case.input("target", draw.tensor(dtype, &[batch, outer])?);
        let case = case.input("weight", draw.packed(dtype, &[outer, inner])?);
        let case = case.input("bias", draw.tensor(dtype, &[outer])?);
        Ok(case.param("lr", *draw.choose(&[0.125, 0.01, 1.0])?))
    },
    contract: &|case| {
        let [Some(x), Some(target), Some(weight), Some(bias)] =
            ["x", "target", "weight", "bias"].map(|name| case.tensor(name))
        else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if x.shape.len() != 2 || target.shape.len() != 2 || weight.shape.len() != 2 || bias.shape.len() != 1 {
            return Contract::Unspecified("inputs other than one batch of rows");
        }
        let (batch, inner, outer) = (x.shape[0], x.shape[1], weight.shape[0]);
        if bias.shape != [outer] {
            return Contract::Unspecified("a bias that is not one value per output");
        }
        if weight.shape[1] != inner || target.shape != [batch, outer] {
            return Contract::Rejects(&rule::SHAPES);
        }
        if [target, weight, bias].iter().any(|tensor| tensor.dtype != x.dtype) {
            return Contract::Rejects(&rule::MIXED);
        }
        if product(&[batch, inner, outer]).is_none_or(|work| work == 0 || work > 1 << 20) || !x.dtype.is_float() {
            return Contract::Unspecified("training on an empty batch, on a large one, or on integers");
        }
        if !(case.float("lr") >= 0.0 && case.float("lr").is_finite()) {
            return Contract::Unspecified("a learning rate that is negative or not finite");
        }
        let outputs = [&[][..], &[outer, inner], &[outer], &[batch, outer]];
        let outputs = outputs.into_iter().map(|shape| (x.dtype, shape.to_vec())).collect();
        Contract::Accepts { outputs, refusal: None }.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let (x, target) = (call.tensor("x")?, call.tensor("target")?);
        let (weight, bias) = (Var::from_tensor(call.tensor("weight")?)?, Var::from_tensor(call.tensor("bias")?)?);
        let predict = || Linear::new(weight.as_tensor().clone(), Some(bias.as_tensor().clone())).forward(x);
        let mut optimizer = SGD::new(vec![weight.clone(), bias.clone()], call.case.float("lr"))?;
        let loss = loss::mse(&predict()?, target)?;
        optimizer.step(&loss.backward()?)?;
        Ok(vec![
            loss.detach(),
            weight.as_detached_tensor().copy()?,
            bias.as_detached_tensor().copy()?,
            predict()?.detach(),
        ])
    },
    source: r"
        let (weight, bias) = (Var::from_tensor(&weight)?, Var::from_tensor(&bias)?);
        let predict = || candle_nn::Linear::new(weight.as_tensor().clone(), Some(bias.as_tensor().clone())).forward(&x);
        let mut optimizer = candle_nn::SGD::new(vec![weight.clone(), bias.clone()], {{ lr }})?;
        let loss = candle_nn::loss::mse(&predict()?, &target)?;
        optimizer.step(&loss.backward()?)?;
        let outputs = [loss, weight.as_tensor().copy()?, bias.as_tensor().copy()?, predict()?];
    ",
    torch: r"
        weight, bias = weight.clone().requires_grad_(), bias.clone().requires_grad_()
        optimizer = torch.optim.SGD([weight, bias], lr={{ lr }})
        loss = F.mse_loss(F.linear(x, weight, bias), target)
        loss.backward()
        optimizer.step()
        outputs = [loss, weight, bias, F.linear(x, weight, bias)]
    ",
    reference: Some(&trained),
    ulps: 8.0,
    differentiable: &[],
    promise: "the contracts of Linear, mse, backward and SGD in turn",
};

fn trained(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let [x, target, weight, bias] = ["x", "target", "weight", "bias"].map(|name| inputs.array(name));
    let predict = |weight: &ArrayD<Num>, bias: &ArrayD<Num>| {
        let mut out = multiply(&x, &weight.t().to_owned());
        out.indexed_iter_mut().for_each(|(at, value)| *value = *value + bias[[at[1]]]);
        out
    };
    let mut off = predict(&weight, &bias);
    off.zip_mut_with(&target, |prediction, &target| *prediction = *prediction - target);
    let squares: Vec<Num> = off.iter().map(|&off| off * off).collect();
    // The derivative of the mean of squares by each prediction.
    let count = Num::exact(squares.len() as f64);
    off.mapv_inplace(|off| Num::exact(2.0) * off / count);
    let lr = Num::exact(inputs.case.float("lr"));
    let slopes = multiply(&off.t().to_owned(), &x);
    let weight = ArrayD::from_shape_fn(weight.raw_dim(), |at| weight[&at] - lr * slopes[&at]);
    let bias = ArrayD::from_shape_fn(bias.raw_dim(), |at| {
        let slope = Num::sum((0..off.shape()[0]).map(|row| off[[row, at[0]]]));
        bias[&at] - lr * slope
    });
    let after = predict(&weight, &bias);
    vec![ArrayD::from_elem(IxDyn(&[]), Num::mean(&squares)), weight, bias, after]
}
