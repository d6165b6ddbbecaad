//! Numbers with an error bound and a slope, compared with published tables, `f32` and central differences.

use snuffer::number::{Num, SINGLE};

/// A formula that uses every operation, for comparing derivatives with central differences.
fn formula(x: Num, y: Num) -> Num {
    let terms = [x * y, x.exp() / y, (y * y).sqrt(), (x * x + y).ln(), x.abs().max(y)];
    Num::log_sum_exp(&terms) - Num::mean(&terms)
}

#[test]
fn slopes_agree_with_central_differences() {
    let (x, y, h) = (0.7, 1.9, 1e-6);
    let slope = formula(Num::input(x, 1.0, SINGLE), Num::exact(y)).slope;
    let above = formula(Num::exact(x + h), Num::exact(y)).value;
    let below = formula(Num::exact(x - h), Num::exact(y)).value;
    assert!((slope - (above - below) / (2.0 * h)).abs() < 1e-8);
}

#[test]
fn the_error_bound_covers_an_evaluation_in_f32() {
    let (x, y) = (0.7f32, 1.9f32);
    let bound = formula(Num::input(x.into(), 0.0, SINGLE), Num::input(y.into(), 0.0, SINGLE));
    let terms = [x * y, x.exp() / y, (y * y).sqrt(), (x * x + y).ln(), x.abs().max(y)];
    let largest = terms.iter().copied().fold(f32::MIN, f32::max);
    let sum: f32 = terms.iter().map(|t| (t - largest).exp()).sum();
    let single = sum.ln() + largest - terms.iter().sum::<f32>() / 5.0;
    let off = (f64::from(single) - bound.value).abs();
    assert!(off <= bound.error, "off by {off}, bound {}", bound.error);
    assert!(bound.error < 100.0 * SINGLE, "a bound of {} accepts anything", bound.error);
}

#[test]
fn a_sum_of_many_halves_may_not_stall() {
    let ones = vec![Num::input(1.0, 0.0, (-11f64).exp2()); 4096];
    assert!(Num::sum(ones).error < 16.0, "2048 must not pass for 4096");
}

#[test]
fn erf_agrees_with_published_tables() {
    for (x, want) in [
        (0.0, 0.0),
        (0.5, 0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (-2.0, -0.995_322_265_018_952_7),
        (2.999, 0.999_977_769_831_400_2),
        (3.5, 0.999_999_256_901_627_7),
        (7.0, 1.0),
    ] {
        let erf = Num::exact(x).erf().value;
        assert!((erf - want).abs() < 2e-15, "erf({x}) = {erf}");
    }
}

#[test]
fn slopes_of_functions_agree_with_central_differences() {
    type Function = fn(Num) -> Num;
    let functions: [(&str, Function); 12] = [
        ("recip", Num::recip),
        ("sin", Num::sin),
        ("cos", Num::cos),
        ("tanh", Num::tanh),
        ("erf", Num::erf),
        ("powf", |x| x.powf(1.5)),
        ("sigmoid", Num::sigmoid),
        ("silu", Num::silu),
        ("gelu", Num::gelu),
        ("gelu_erf", Num::gelu_erf),
        ("mish", Num::mish),
        ("sqr", Num::sqr),
    ];
    for (name, f) in functions {
        for x in [0.3, 0.9, 2.1] {
            let at = |x: f64| f(Num::input(x, 1.0, SINGLE));
            let difference = (at(x + 1e-6).value - at(x - 1e-6).value) / 2e-6;
            assert!((at(x).slope - difference).abs() < 1e-8, "{name}'({x}) = {}", at(x).slope);
            assert!(at(x).error < 40.0 * SINGLE, "{name}({x}) has a bound of {}", at(x).error);
        }
    }
}

#[test]
fn an_intermediate_overflow_does_not_lose_the_result() {
    let half = (-11f64).exp2();
    for f in [Num::gelu, Num::mish] {
        let large = f(Num::input(50.0, 1.0, half));
        assert_eq!((large.value, large.slope), (50.0, 1.0));
        assert!(large.peak <= 50.0 && large.error < 1.0 && large.slope_error < 1.0, "{large:?}");
    }
}
