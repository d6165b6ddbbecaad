//! The case parser accepts or refuses any text without a panic.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use snuffer::case::Case;
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops;
use snuffer::tensor::{DType, Tensor, Value};

const BYTES: &[u8] = b" []{}=\"'.,-+eE0123456789naif#\n\x00";

#[test]
fn a_million_mutated_texts_are_parsed_or_refused_without_a_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let texts: Vec<Vec<u8>> =
        (0..200).map(|index| Sample::nth(ops::ALL, &Mode::ALL, 3, index).drawn.case.to_text().into_bytes()).collect();
    let mut parsed = 0;
    for round in 0..1_000_000_usize {
        let mut text = texts[round % texts.len()].clone();
        text.truncate(400);
        for _ in 0..=rng.next_u32() % 3 {
            let place = rng.next_u32() as usize % text.len();
            match rng.next_u32() % 3 {
                0 => text[place] = BYTES[rng.next_u32() as usize % BYTES.len()],
                1 => drop(text.remove(place)),
                _ => text.insert(place, text[rng.next_u32() as usize % text.len()]),
            }
            if text.is_empty() {
                break;
            }
        }
        if let Ok(text) = std::str::from_utf8(&text)
            && let Ok(case) = Case::parse(text)
        {
            parsed += 1;
            // A parsed case may be run, so its contract must not panic either.
            if let Some(op) = ops::find(&case.op) {
                (op.contract)(&case);
            }
        }
    }
    assert!(parsed > 10_000, "only {parsed} mutants parsed: the mutations are too coarse to test anything");
}

#[test]
fn a_typing_error_is_named_with_its_line() {
    let error = Case::parse("op = \"loss.nll\"\nbakward = \"sum\"\n").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("bakward"), "{error}");
}

#[test]
fn special_values_survive_the_text() {
    let values = [f64::NAN, f64::INFINITY, -0.0, 5e-324, 0.1].map(Value::Float).to_vec();
    let case = Case::new("x").input("a", Tensor::new(DType::F64, vec![5], values)).param("p", 1e-5);
    assert_eq!(Case::parse(&case.to_text()).unwrap(), case);
}
