//! What attention ops share: the mean that a softmax weights.

use crate::number::Num;

/// The mean of the values at each `j`, weighted by the softmax of their scores. Without scores the result is open.
pub fn weighted(scores: &[(usize, Num)], width: usize, value: impl Fn(usize, usize) -> Num) -> Vec<Num> {
    // A softmax that is updated on the way rescales what it has added so far, perhaps by 0.
    let is_open = |number: Num| !number.value.is_finite();
    if scores.iter().any(|&(j, score)| is_open(score) || (0..width).any(|t| is_open(value(j, t)))) {
        return vec![Num { indeterminate: true, ..Num::exact(f64::NAN) }; width];
    }
    let largest = scores.iter().fold(f64::NEG_INFINITY, |largest, (_, score)| largest.max(score.value));
    if scores.is_empty() {
        return vec![Num { peak: f64::INFINITY, ..Num::exact(0.0) }; width];
    }
    let shares: Vec<_> = scores.iter().map(|&(j, score)| (j, (score - Num::exact(largest)).exp())).collect();
    let total = Num::sum(shares.iter().map(|&(_, share)| share));
    // Before it has seen the largest score, such a softmax has shares of up to 1.
    let overflows = |t| scores.iter().map(|&(j, _)| value(j, t).value.abs()).sum::<f64>() > f64::from(f32::MAX);
    let mean = |t| {
        let mean = Num::sum(shares.iter().map(|&(j, share)| share * value(j, t))) / total;
        if overflows(t) { Num { peak: f64::INFINITY, ..mean } } else { mean }
    };
    (0..width).map(mean).collect()
}
