//! The sum over all dimensions at once, and over one after the other.

use ndarray::Axis;

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::reducing::reductions::overflows;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::tensor::sum::SUM;
use crate::ops::{Contract, Op, rule, why};

/// The sum of all elements: at once, over a list of all dimensions, and over one dimension after the other.
pub static SUM_IN_TURN: Op = Op {
    name: "relation.sum_in_turn",
    covers: &["Tensor::sum_all", "Tensor::sum"],
    support: SUM.support,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(SUM_IN_TURN.support)?;
        let mut shape: Vec<usize> = draw.shape(0, 2)?.into_iter().map(|n| n.max(1)).collect();
        shape.push(draw.reduced()?.max(1));
        // Small integers: few sums overflow.
        let x = if dtype.is_float() { draw.tensor(dtype, &shape)? } else { draw.ids(dtype, &shape, 4)? };
        Ok(Case::default().input("x", x))
    },
    contract: &|case| match case.tensor("x") {
        None => Contract::Rejects(&rule::SHAPES),
        Some(x) if x.shape.is_empty() || x.shape.contains(&0) => Contract::Unspecified("the sum of an empty tensor"),
        Some(x) if !x.dtype.is_float() && overflows(x, &(0..x.shape.len()).collect::<Vec<_>>()) => {
            Contract::Unspecified(why::OVERFLOW)
        }
        Some(x) => Contract::Accepts { outputs: vec![(x.dtype, Vec::new()); 3], refusal: None },
    },
    call: &|call| {
        let x = call.tensor("x")?;
        let dims: Vec<usize> = (0..x.rank()).collect();
        let in_turn = dims.iter().try_fold(x.clone(), |x, _| x.sum(0))?;
        Ok(vec![x.sum_all()?, x.sum(dims)?, in_turn])
    },
    source: r#"
        {% set dims = range(inputs.x.shape|length) %}
        let in_turn = x{% for _ in dims %}.sum(0)?{% else %}.clone(){% endfor %};
        let outputs = [x.sum_all()?, x.sum([{{ dims|join(", ") }}])?, in_turn];
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let once = Num::sum(x.iter().copied());
        let mut in_turn = x;
        while in_turn.ndim() > 0 {
            in_turn = in_turn.map_axis(Axis(0), |lane| Num::sum(lane.iter().copied()));
        }
        [scalar(once), scalar(once), vec![in_turn]].concat()
    }),
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "a sum over dimensions is the sum of their sums",
};
