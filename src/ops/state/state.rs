//! What tensors share: one tensor twice, variables that change, memory that is given back early, threads, and what is cut
//! off from differentiation.

use candle_core::{DType as Candle, Result, Tensor, Var};
use ndarray::{ArrayD, Ix2};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::gather_map::{affordable, shape_of};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `x` with itself: `x + x`, `x - x`, `x * x`.
pub static TWICE: Op = Op {
    name: "state.twice",
    covers: &["Tensor::add", "Tensor::sub", "Tensor::mul"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let form = *draw.choose(&["add", "sub", "mul"])?;
        Ok(drawn(draw, &["x"])?.param("form", form))
    },
    contract,
    call: |call| {
        let x = call.tensor("x")?;
        Ok(vec![match call.case.text("form") {
            "add" => x.add(x)?,
            "sub" => x.sub(x)?,
            _ => x.mul(x)?,
        }])
    },
    source: "x.{{ form if form in ['add', 'sub'] else 'mul' }}(&x)?",
    torch: "",
    reference: Some(|inputs| {
        let form = inputs.case.text("form");
        each(inputs, |x| match form {
            "add" => x + x,
            "sub" => x + -x,
            _ => x * x,
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "elementwise arithmetic of any two tensors of one shape",
};

/// `x * x + x`: a gradient that arrives by two ways.
pub static DIAMOND: Op = Op {
    name: "state.diamond",
    covers: &["Tensor::backward"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x"]),
    contract,
    call: |call| {
        let x = call.tensor("x")?;
        Ok(vec![((x * x)? + x)?])
    },
    source: "((&x * &x)? + &x)?",
    torch: "",
    reference: Some(|inputs| each(inputs, |x| x * x + x)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "torch.autograd: gradients of several uses add up",
};

/// `x.matmul(x.t())` of a matrix.
pub static OWN_TRANSPOSE: Op = Op {
    name: "state.own_transpose",
    covers: &["Tensor::matmul", "Tensor::t"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let shape = [draw.positive()?, draw.reduced()?];
        of_shape(draw, &["x"], &shape)
    },
    contract: |case| {
        let shape = shape_of(case);
        let dtype = case.tensor("x").map_or(DType::F32, |x| x.dtype);
        let [batch @ .., rows, _] = shape.as_slice() else { return Contract::Unspecified("no matrix") };
        let product = affordable(dtype, &[batch, &[*rows, *rows]].concat());
        match product {
            Contract::Accepts { .. } if !batch.is_empty() => Contract::Unspecified("no matrix"),
            Contract::Accepts { .. } if shape.contains(&0) => Contract::Unspecified("a product without elements"),
            Contract::Accepts { .. } => {
                let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
                let Contract::Accepts { .. } = contract(case) else { return contract(case) };
                product.may_refuse(strided, why::CONTIGUOUS)
            }
            too_large => too_large,
        }
    },
    call: |call| {
        let x = call.tensor("x")?;
        Ok(vec![x.matmul(&x.t()?)?])
    },
    source: "x.matmul(&x.t()?)?",
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x").into_dimensionality::<Ix2>().expect("a matrix");
        let product = |(i, j)| Num::sum(x.row(i).iter().zip(x.row(j)).map(|(&a, &b)| a * b));
        vec![ndarray::Array2::from_shape_fn((x.nrows(), x.nrows()), product).into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1477-1556: a transposed operand is one of the layouts that it takes",
};

/// Whether in-place writes of a tensor into itself are refused, one fact for each; and that nothing was written.
pub static OWN_STORAGE: Op = Op {
    name: "state.own_storage",
    covers: &["Tensor::slice_set", "Tensor::scatter_set", "Tensor::scatter_add_set", "Var::set"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x"]),
    contract: |case| match contract(case) {
        Contract::Accepts { .. } if shape_of(case).is_empty() => Contract::Unspecified("a scalar has no part"),
        Contract::Accepts { mut outputs, refusal } => {
            outputs.insert(0, (DType::U8, vec![4]));
            Contract::Accepts { outputs, refusal }
        }
        other => other,
    },
    call: |call| {
        let x = call.tensor("x")?.force_contiguous()?;
        let part = x.narrow(0, 0, 1)?;
        let ids = Tensor::zeros(part.shape(), Candle::U32, x.device())?;
        let var = Var::from_tensor(&x)?;
        let refused = [
            x.slice_set(&part, 0, 0).is_err(),
            x.scatter_set(&ids, &part, 0).is_err(),
            x.scatter_add_set(&ids, &part, 0).is_err(),
            var.set(&var.as_tensor().flatten_all()?.reshape(x.shape())?).is_err(),
        ];
        Ok(vec![Tensor::new(&refused.map(u8::from), x.device())?, x])
    },
    source: r"
        let x = x.force_contiguous()?;
        let part = x.narrow(0, 0, 1)?;
        let ids = Tensor::zeros(part.shape(), DType::U32, &device)?;
        let var = Var::from_tensor(&x)?;
        let refused = [
            x.slice_set(&part, 0, 0).is_err(),
            x.scatter_set(&ids, &part, 0).is_err(),
            x.scatter_add_set(&ids, &part, 0).is_err(),
            var.set(&var.as_tensor().flatten_all()?.reshape(x.shape())?).is_err(),
        ];
        let outputs = [Tensor::new(&refused.map(u8::from), &device)?, x];
    ",
    torch: "",
    reference: Some(|inputs| {
        let refused = ArrayD::from_elem(ndarray::IxDyn(&[4]), Num::exact(1.0));
        vec![refused, inputs.array("x")]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor_cat.rs:258-260, tensor.rs:1694-1735, variable.rs (\"cannot set a variable to a tensor \
              that is derived from its value\")",
};

/// `var.set(y)` of a variable with the value `x`: the variable's value afterwards, what was computed of it before, and
/// whether it has a gradient all the same.
pub static VAR_SET: Op = Op {
    name: "state.var_set",
    covers: &["Var::set", "Var::from_tensor", "Var::as_tensor"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x", "y"]),
    contract: |case| with_second(case, "y", (DType::U8, vec![1])),
    call: |call| {
        let var = Var::from_tensor(call.tensor("x")?)?;
        let alias = var.as_tensor().clone();
        let before = (var.as_tensor() * 2.0)?;
        var.set(call.tensor("y")?)?;
        let found = before.sum_all()?.backward()?.get(&var).is_some();
        Ok(vec![alias, before, Tensor::new(&[u8::from(found)], call.tensor("x")?.device())?])
    },
    source: r"
        let var = Var::from_tensor(&x)?;
        let alias = var.as_tensor().clone();
        let before = (var.as_tensor() * 2.0)?;
        var.set(&y)?;
        let found = before.sum_all()?.backward()?.get(&var).is_some();
        let outputs = [alias, before, Tensor::new(&[u8::from(found)], &device)?];
    ",
    torch: "",
    reference: Some(|inputs| {
        let two = Num::exact(2.0);
        let found = ArrayD::from_elem(ndarray::IxDyn(&[1]), Num::exact(1.0));
        vec![inputs.array("y"), inputs.array("x").mapv(|x| x * two), found]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/variable.rs:118-146 (\"Sets the content of the inner tensor\")",
};

/// `(2 x + 1)^2`, read after its inputs and intermediates are dropped and their memory is in use again.
pub static DROPPED: Op = Op {
    name: "state.dropped",
    covers: &["Tensor::affine", "Tensor::force_contiguous"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x"]),
    contract,
    call: |call| {
        let copy = call.tensor("x")?.force_contiguous()?;
        let line = copy.affine(2.0, 1.0)?;
        drop(copy);
        let square = (&line * &line)?;
        drop(line);
        let _reused = (0..3).map(|_| square.zeros_like()).collect::<Result<Vec<_>>>()?;
        Ok(vec![square])
    },
    source: r"
        let copy = x.force_contiguous()?;
        let line = copy.affine(2.0, 1.0)?;
        drop(copy);
        let square = (&line * &line)?;
        drop(line);
        let _reused = (0..3).map(|_| square.zeros_like()).collect::<Result<Vec<_>>>()?;
        square
    ",
    torch: "",
    reference: Some(|inputs| {
        let (two, one) = (Num::exact(2.0), Num::exact(1.0));
        each(inputs, |x| (two * x + one) * (two * x + one))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "Rust: a tensor holds what it was computed to be, whatever is dropped",
};

/// `x * n + x` for four `n`, each in a thread of its own on the one device.
pub static THREADS: Op = Op {
    name: "state.threads",
    covers: &["Tensor::affine", "Tensor::add"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x"]),
    contract: |case| match contract(case) {
        Contract::Accepts { outputs, refusal } => Contract::Accepts { outputs: vec![outputs[0].clone(); 4], refusal },
        other => other,
    },
    call: |call| {
        let x = call.tensor("x")?;
        std::thread::scope(|scope| {
            let line = |n: f64| move || ((x * n)? + x)?.force_contiguous();
            let threads = FACTORS.map(|n| scope.spawn(line(n)));
            let joined = threads.map(|thread| thread.join().map_err(|_| candle_core::Error::Msg("a panic".into()))?);
            joined.into_iter().collect()
        })
    },
    source: r#"
        let outputs = std::thread::scope(|scope| {
            let x = &x;
            let line = |n: f64| move || ((x * n)? + x)?.force_contiguous();
            let threads = [1.0, 2.0, 3.0, 4.0].map(|n| scope.spawn(line(n)));
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
        })?;
    "#,
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        FACTORS.map(|n| x.mapv(|x| x * Num::exact(n) + x)).to_vec()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle's tensors and devices are Send and Sync",
};

const FACTORS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// Gradients of `(x.detach() * w).sum()`: whether `x` has one, and that of `w`.
pub static DETACH: Op = Op {
    name: "state.detach",
    covers: &["Tensor::detach", "Var::as_detached_tensor"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x", "w"]),
    contract: |case| match with_second(case, "w", (DType::U8, vec![1])) {
        Contract::Accepts { mut outputs, refusal } => {
            outputs.remove(0);
            Contract::Accepts { outputs, refusal }
        }
        other => other,
    },
    call: |call| {
        let (x, w) = (Var::from_tensor(call.tensor("x")?)?, Var::from_tensor(call.tensor("w")?)?);
        let loss = ((x.detach() * w.as_tensor())? + x.as_detached_tensor())?.sum_all()?;
        let grads = loss.backward()?;
        let found = [grads.get(&x).is_some()];
        let grad = grads.get(&w).ok_or_else(|| candle_core::Error::Msg("w has no gradient".into()))?;
        Ok(vec![grad.clone(), Tensor::new(&found.map(u8::from), w.device())?])
    },
    source: r#"
        let (x, w) = (Var::from_tensor(&x)?, Var::from_tensor(&w)?);
        let loss = ((x.detach() * w.as_tensor())? + x.as_detached_tensor())?.sum_all()?;
        let grads = loss.backward()?;
        let found = u8::from(grads.get(&x).is_some());
        let outputs = [grads.get(&w).expect("a gradient").clone(), Tensor::new(&[found], &device)?];
    "#,
    torch: "",
    reference: Some(|inputs| {
        // Backward adds what arrives to zeros, and that may flush what is subnormal.
        let gradient = inputs.array("x").mapv(|x| x + Num::exact(0.0));
        vec![gradient, ArrayD::from_elem(ndarray::IxDyn(&[1]), Num::exact(0.0))]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:2376-2394 (\"detached from the current graph, gradient are not propagated\")",
};

/// The gradient of `(x * x).sum()`, asked for twice.
pub static BACKWARD_AGAIN: Op = Op {
    name: "state.backward_again",
    covers: &["Tensor::backward", "GradStore"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| drawn(draw, &["x"]),
    contract: |case| match contract(case) {
        Contract::Accepts { outputs, refusal } => Contract::Accepts { outputs: vec![outputs[0].clone(); 2], refusal },
        other => other,
    },
    call: |call| {
        let x = Var::from_tensor(call.tensor("x")?)?;
        let loss = (x.as_tensor() * x.as_tensor())?.sum_all()?;
        let grad = || loss.backward()?.get(&x).cloned().ok_or_else(|| candle_core::Error::Msg("no gradient".into()));
        Ok(vec![grad()?, grad()?])
    },
    source: r#"
        let x = Var::from_tensor(&x)?;
        let loss = (x.as_tensor() * x.as_tensor())?.sum_all()?;
        let [first, second] = [loss.backward()?, loss.backward()?];
        let outputs = [first, second].map(|grads| grads.get(&x).expect("a gradient").clone());
    "#,
    torch: "",
    reference: Some(|inputs| {
        let grad = inputs.array("x").mapv(|x| x + x);
        vec![grad.clone(), grad]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/backprop.rs: each call returns a store of its own",
};

/// The dtypes of these ops.
pub const STATE_SUPPORT: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

fn drawn(draw: &mut Draw, names: &[&str]) -> arbitrary::Result<Case> {
    let mut shape = draw.shape(0, 3)?;
    shape.push(1);
    for n in &mut shape {
        *n = (*n).max(1);
    }
    of_shape(draw, names, &shape)
}

fn of_shape(draw: &mut Draw, names: &[&str], shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(STATE_SUPPORT)?;
    let mut case = Case::default();
    for name in names {
        case = case.input(name, draw.tensor(dtype, shape)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

fn contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if !x.dtype.is_float() {
        return Contract::Unspecified("gradients of integers");
    }
    if x.shape.contains(&0) {
        return Contract::Unspecified("gradients of nothing");
    }
    Contract::accepts(x.dtype, &x.shape)
}

/// Two outputs of the shape of `x`, and a last one, for a second input that must be like `x`.
fn with_second(case: &Case, name: &str, last: (DType, Vec<usize>)) -> Contract {
    let (Contract::Accepts { outputs, refusal }, Some(x)) = (contract(case), case.tensor("x")) else {
        return contract(case);
    };
    let Some(other) = case.tensor(name) else { return Contract::Rejects(why::SHAPES) };
    if other.shape != x.shape {
        return Contract::Rejects(why::SHAPES);
    }
    if other.dtype != x.dtype {
        return Contract::Rejects(why::MIXED);
    }
    Contract::Accepts { outputs: vec![outputs[0].clone(), outputs[0].clone(), last], refusal }
}

fn each(inputs: &ReferenceInputs, f: impl Fn(Num) -> Num) -> Vec<ArrayD<Num>> {
    vec![inputs.array("x").mapv(f)]
}
