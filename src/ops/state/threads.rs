//! One tensor in several threads.

use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::nonempty_floats::{FLOATS, drawn_floats, float_contract};
use crate::ops::{Contract, Op};

/// `x * n + x` for four `n`, each in its own thread on one device.
pub static THREADS: Op = Op {
    name: "state.threads",
    covers: &["Tensor::affine", "Tensor::add"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: |draw| drawn_floats(draw, &["x"]),
    contract: |case| match float_contract(case) {
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
    // This is about candle's own state.
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
