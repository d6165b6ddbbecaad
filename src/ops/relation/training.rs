//! Gradients in use: one step of training, and a variable that several branches use.

use candle_core::{Device, Module, Tensor as Candle, Var};
use candle_nn::{Linear, Optimizer, SGD, loss};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::convolution::{Window, convolve};
use crate::ops::support::matrix_products::multiply;
use crate::ops::support::resizing::nearest;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, View, product};

/// `Linear`, `mse`, its gradients, a step of `SGD`, and `Linear` again: the loss before, the weights after, and what
/// they predict.
pub static TRAINING: Op = Op {
    name: "relation.training_step",
    covers: &["Linear", "loss::mse", "SGD", "Optimizer::step"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(TRAINING.support)?;
        let (batch, inner, outer) = (draw.positive()?, draw.positive()?, draw.positive()?);
        let x = draw.tensor_in(dtype, &[batch, inner], View::default())?;
        let case = Case::default().input("x", x);
        let case = case.input("target", draw.tensor(dtype, &[batch, outer])?);
        let case = case.input("weight", draw.packed(dtype, &[outer, inner])?);
        let case = case.input("bias", draw.tensor(dtype, &[outer])?);
        Ok(case.param("lr", *draw.choose(&[0.125, 0.01, 1.0])?))
    },
    contract: |case| {
        let [Some(x), Some(target), Some(weight), Some(bias)] =
            ["x", "target", "weight", "bias"].map(|name| case.tensor(name))
        else {
            return Contract::Rejects(why::SHAPES);
        };
        if x.shape.len() != 2 || target.shape.len() != 2 || weight.shape.len() != 2 || bias.shape.len() != 1 {
            return Contract::Unspecified("other than one batch of rows");
        }
        let (batch, inner, outer) = (x.shape[0], x.shape[1], weight.shape[0]);
        if bias.shape != [outer] {
            return Contract::Unspecified("a bias that is not one value per output");
        }
        if weight.shape[1] != inner || target.shape != [batch, outer] {
            return Contract::Rejects(why::SHAPES);
        }
        if [target, weight, bias].iter().any(|tensor| tensor.dtype != x.dtype) {
            return Contract::Rejects(why::MIXED);
        }
        if product(&[batch, inner, outer]).is_none_or(|work| work == 0 || work > 1 << 20) || !x.dtype.is_float() {
            return Contract::Unspecified("training of nothing, of too much, or of integers");
        }
        if !(1e-6..=10.0).contains(&case.float("lr", 0.1)) {
            return Contract::Unspecified("a learning rate that is no ordinary positive number");
        }
        let outputs = [&[][..], &[outer, inner], &[outer], &[batch, outer]];
        let outputs = outputs.into_iter().map(|shape| (x.dtype, shape.to_vec())).collect();
        Contract::Accepts { outputs, refusal: None }.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| {
        let (x, target) = (call.tensor("x")?, call.tensor("target")?);
        let (weight, bias) = (Var::from_tensor(call.tensor("weight")?)?, Var::from_tensor(call.tensor("bias")?)?);
        let predict = || Linear::new(weight.as_tensor().clone(), Some(bias.as_tensor().clone())).forward(x);
        let mut optimizer = SGD::new(vec![weight.clone(), bias.clone()], call.case.float("lr", 0.1))?;
        let loss = loss::mse(&predict()?, target)?;
        optimizer.step(&loss.backward()?)?;
        Ok(vec![loss, weight.as_tensor().copy()?, bias.as_tensor().copy()?, predict()?])
    },
    source: r#"
        let (weight, bias) = (Var::from_tensor(&weight)?, Var::from_tensor(&bias)?);
        let predict = || candle_nn::Linear::new(weight.as_tensor().clone(), Some(bias.as_tensor().clone())).forward(&x);
        let mut optimizer = candle_nn::SGD::new(vec![weight.clone(), bias.clone()], {{ lr|default("0.1") }})?;
        let loss = candle_nn::loss::mse(&predict()?, &target)?;
        optimizer.step(&loss.backward()?)?;
        let outputs = [loss, weight.as_tensor().copy()?, bias.as_tensor().copy()?, predict()?];
    "#,
    torch: r#"
        weight, bias = weight.clone().requires_grad_(), bias.clone().requires_grad_()
        optimizer = torch.optim.SGD([weight, bias], lr={{ lr|default("0.1") }})
        loss = F.mse_loss(F.linear(x, weight, bias), target)
        loss.backward()
        optimizer.step()
        outputs = [loss, weight, bias, F.linear(x, weight, bias)]
    "#,
    reference: Some(trained),
    ulps: 8.0,
    differentiable: &[],
    promise: "what Linear, mse, backward and SGD promise, one after the other",
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
    let lr = Num::exact(inputs.case.float("lr", 0.1));
    let slopes = multiply(&off.t().to_owned(), &x);
    let weight = ArrayD::from_shape_fn(weight.raw_dim(), |at| weight[&at] - lr * slopes[&at]);
    let bias = ArrayD::from_shape_fn(bias.raw_dim(), |at| {
        let slope = Num::sum((0..off.shape()[0]).map(|row| off[[row, at[0]]]));
        bias[&at] - lr * slope
    });
    let after = predict(&weight, &bias);
    vec![ArrayD::from_elem(IxDyn(&[]), Num::mean(&squares)), weight, bias, after]
}

/// `x (N, C, H, W)` in two branches: its squares, and what the param `branch` names. The gradients of both add up.
pub static ACCUMULATION: Op = Op {
    name: "relation.gradient_accumulation",
    covers: &["Tensor::backward"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F64, DType::F16], cuda: &DType::FLOATS },
    generate: |draw| {
        let dtype = draw.dtype(ACCUMULATION.support)?;
        let side = draw.between(1, 2)?;
        let shape = [draw.between(1, 2)?, draw.between(1, 2)?, side, side];
        let branch = *draw.choose(BRANCHES)?;
        let mut case = Case::default().param("branch", branch);
        case = case.input("x", draw.tensor_in(dtype, &shape, View::default())?);
        case.backward = *draw.choose(&[crate::case::Backward::Sum, crate::case::Backward::Weighted])?;
        Ok(case.param("first", draw.between(0, 1)?))
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        if x.shape.len() != 4 || x.shape.contains(&0) || !x.dtype.is_float() {
            return Contract::Unspecified("other than images of floats");
        }
        if product(&x.shape).is_none_or(|n| n > 1 << 12) || !BRANCHES.contains(&case.text("branch")) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        let (n, c, h, w) = (x.shape[0], x.shape[1], x.shape[2], x.shape[3]);
        let branch = match case.text("branch") {
            "interpolate1d" => vec![n * c, h, 2 * w],
            "interpolate2d" => vec![n, c, 2 * h, 2 * w],
            "matmul" => vec![n, c, h, h],
            _ => vec![n, n, 1, 1],
        };
        let mut outputs = vec![(x.dtype, x.shape.clone()), (x.dtype, branch)];
        if case.int("first", 0) != 0 {
            outputs.reverse();
        }
        Contract::Accepts { outputs, refusal: None }.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| {
        let x = call.tensor("x")?;
        let first = call.case.int("first", 0) != 0;
        let square = if first { None } else { Some(x.sqr()?) };
        let branch = branch(x, call.case.text("branch"))?;
        Ok(match square {
            Some(square) => vec![square, branch],
            None => vec![branch, x.sqr()?],
        })
    },
    source: r#"
        {% set n, c, h, w = inputs.x.shape %}
        {% if first|default(0) == 0 %}
        let square = x.sqr()?;
        {% endif %}
        {% if branch == "interpolate1d" %}
        let lines = x{{ to_host }}.reshape(({{ n * c }}, {{ h }}, {{ w }}))?;
        let branch = lines.interpolate1d({{ 2 * w }})?{{ ".to_device(&device)?" if cuda else "" }};
        {% elif branch == "interpolate2d" %}
        let branch = x.interpolate2d({{ 2 * h }}, {{ 2 * w }})?;
        {% elif branch == "matmul" %}
        let branch = x.matmul(&x.transpose(2, 3)?)?;
        {% else %}
        let branch = x.conv2d(&x, 0, 1, 1, 1)?;
        {% endif %}
        let outputs = {% if first|default(0) == 0 %}[square, branch]{% else %}[branch, x.sqr()?]{% endif %};
    "#,
    torch: r#"
        {% set n, c, h, w = inputs.x.shape %}
        {% if branch == "interpolate1d" %}
        branch = F.interpolate(x.reshape({{ n * c }}, {{ h }}, {{ w }}), size={{ 2 * w }})
        {% elif branch == "interpolate2d" %}
        branch = F.interpolate(x, size=({{ 2 * h }}, {{ 2 * w }}))
        {% elif branch == "matmul" %}
        branch = x @ x.transpose(2, 3)
        {% else %}
        branch = F.conv2d(x, x)
        {% endif %}
        outputs = {{ "[x.square(), branch]" if first|default(0) == 0 else "[branch, x.square()]" }}
    "#,
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let squares = x.mapv(|x| x * x);
        let (h, w) = (x.shape()[2], x.shape()[3]);
        let plain = Window { padding: 0, stride: 1, dilation: 1, groups: 1 };
        let branch = match inputs.case.text("branch") {
            "interpolate1d" => {
                let flat = IxDyn(&[x.shape()[0] * x.shape()[1], h, w]);
                nearest(&x.into_shape_with_order(flat).expect("the same elements"), &[2 * w])
            }
            "interpolate2d" => nearest(&x, &[2 * h, 2 * w]),
            "matmul" => {
                let transposed = x.clone().permuted_axes(IxDyn(&[0, 1, 3, 2]));
                multiply(&x, &transposed)
            }
            _ => convolve(&x, &x, &plain),
        };
        let mut outputs = vec![squares, branch];
        if inputs.case.int("first", 0) != 0 {
            outputs.reverse();
        }
        outputs
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/backprop.rs:150-160: gradients of a node are summed over its uses; the chain rule",
};

const BRANCHES: &[&str] = &["interpolate1d", "interpolate2d", "matmul", "conv2d"];

fn branch(x: &Candle, name: &str) -> candle_core::Result<Candle> {
    let (n, c, h, w) = x.dims4()?;
    match name {
        // There is no kernel for CUDA.
        "interpolate1d" => {
            x.to_device(&Device::Cpu)?.reshape((n * c, h, w))?.interpolate1d(2 * w)?.to_device(x.device())
        }
        "interpolate2d" => x.interpolate2d(2 * h, 2 * w),
        "matmul" => x.matmul(&x.transpose(2, 3)?),
        _ => x.conv2d(x, 0, 1, 1, 1),
    }
}
