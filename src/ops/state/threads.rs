//! One tensor in several threads.

use candle_core::{Result, Tensor, Var};

use crate::case::{Backward, Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, float_contract};
use crate::ops::{Contract, Op, why};

/// Four threads share `x` on one device, each with its own `n` from 1 to 4: `x * n + x`; the gradient of `(n x)^2`; or `x * n` after
/// clones of `x` and of views of it are dropped.
pub static THREADS: Op = Op {
    name: "state.threads",
    covers: &["Tensor::affine", "Tensor::add", "Tensor::sqr", "Tensor::backward", "Tensor::narrow"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::word("each", &["add", "backward", "drop"], "The work of each thread.")],
    generate: &|draw| {
        let case = draw_floats(draw, &["x"])?;
        let each = *draw.choose(&["add", "backward", "drop"])?;
        let backward = if each == "backward" { Backward::None } else { case.backward };
        Ok(Case { backward, ..case }.param("each", each))
    },
    contract: &|case| match float_contract(case) {
        // The threads have differentiated already.
        Contract::Accepts { .. } if case.text("each") == "backward" && !case.backward.is_none() => {
            Contract::Unspecified(why::NO_CALL)
        }
        Contract::Accepts { outputs, refusal } => Contract::Accepts { outputs: vec![outputs[0].clone(); 4], refusal },
        other => other,
    },
    call: &|call| {
        let (x, each) = (call.tensor("x")?, call.case.text("each"));
        std::thread::scope(|scope| {
            let threads = FACTORS.map(|n| scope.spawn(move || in_thread(x, n, each)));
            let joined = threads.map(|thread| thread.join().map_err(|_| candle_core::Error::Msg("a panic".into()))?);
            joined.into_iter().collect()
        })
    },
    source: r#"
        let in_thread = |x: &Tensor, n: f64| -> Result<Tensor> {
            {% if each == "backward" %}
            let scaled = candle_core::Var::from_tensor(&(x * n)?)?;
            let gradients = scaled.sqr()?.sum_all()?.backward()?;
            Ok(gradients.get(&scaled).expect("a gradient").detach())
            {% elif each == "drop" %}
            for _ in 0..8 {
                drop(x.clone());
                drop(x.unsqueeze(0)?.narrow(0, 0, 1)?);
            }
            x * n
            {% else %}
            ((x * n)? + x)?.force_contiguous()
            {% endif %}
        };
        let outputs = std::thread::scope(|scope| {
            let (x, in_thread) = (&x, &in_thread);
            let threads = [1.0, 2.0, 3.0, 4.0].map(|n| scope.spawn(move || in_thread(x, n)));
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>>>()
        })?;
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let (x, each) = (inputs.array("x"), inputs.case.text("each"));
        let of = |n: f64| match each {
            "backward" => x.mapv(|x| (x * Num::exact(n)) * Num::exact(2.0)),
            "drop" => x.mapv(|x| x * Num::exact(n)),
            _ => x.mapv(|x| x * Num::exact(n) + x),
        };
        FACTORS.map(of).to_vec()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "Rust: candle's tensors and devices are Send and Sync",
};

const FACTORS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// What one thread does.
fn in_thread(x: &Tensor, n: f64, each: &str) -> Result<Tensor> {
    match each {
        "backward" => {
            let scaled = Var::from_tensor(&(x * n)?)?;
            let gradients = scaled.sqr()?.sum_all()?.backward()?;
            // Workers keep the graph of a backward pass, for second derivatives.
            gradients
                .get(&scaled)
                .map(Tensor::detach)
                .ok_or_else(|| candle_core::Error::Msg("there is no gradient".into()))
        }
        "drop" => {
            for _ in 0..8 {
                drop(x.clone());
                drop(x.unsqueeze(0)?.narrow(0, 0, 1)?);
            }
            x * n
        }
        _ => ((x * n)? + x)?.force_contiguous(),
    }
}
