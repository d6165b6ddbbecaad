//! The case parser accepts or refuses any text, without a panic, and ignores nothing of what it accepts.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use snuffer::case::Case;
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops;
use snuffer::tensor::{DType, Tensor, Value};

const BYTES: &[u8] = b" []{}=\"'.,-+eE0123456789naif#\n\x00";

#[test]
fn a_hundred_thousand_mutated_texts_are_rejected_or_kept_whole() {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let texts: Vec<Vec<u8>> =
        (0..200).map(|index| Sample::nth(ops::ALL, &Mode::ALL, 3, index).drawn.case.to_text().into_bytes()).collect();
    let (mut parsed, mut accepted) = (0, 0);
    for round in 0..100_000_usize {
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
            if let Ok((op, case)) = ops::accept(case) {
                accepted += 1;
                // It may be run, so its contract must not panic either.
                op.contract(&case);
                let (typed, kept) = (table(text), table(&case.to_text()));
                assert!(
                    is_kept(&typed, Some(&kept)),
                    "a part is ignored of\n{text}\nwhich is read as\n{}",
                    case.to_text()
                );
            }
        }
    }
    assert!(
        parsed > 1_000 && accepted > 500,
        "only {parsed} parsed, {accepted} accepted: the mutations are too coarse"
    );
}

#[test]
fn an_ignored_part_of_a_case_is_noticed() {
    let whole =
        "op = \"tensor.elu\"\nparams.alpha = 2\ninputs.x = { dtype = \"f32\", shape = [1], values.list = [1] }\n";
    let kept = |typed: &str| is_kept(&table(typed), Some(&table(&Case::parse(whole).expect("a case").to_text())));
    assert!(kept(whole) && kept(&whole.replace("= 2", "= 2.0")) && kept(&format!("backward = \"none\"\n{whole}")));
    assert!(!kept(&whole.replace("= 2", "= 3")) && !kept(&whole.replace("alpha", "alhpa")));
    assert!(!kept(&format!("backward = \"sum\"\n{whole}")) && !kept(&whole.replace("list = [1]", "list = [1, 1]")));
}

fn table(text: &str) -> toml::Value {
    toml::Value::Table(text.parse().expect("TOML"))
}

/// Whether `kept` has all that was `typed`: numbers in any form, and nothing for what a case has anyway.
fn is_kept(typed: &toml::Value, kept: Option<&toml::Value>) -> bool {
    use toml::Value::{Array, Float, Integer, String, Table};
    match (typed, kept) {
        (Table(typed), Some(Table(kept))) => typed.iter().all(|(name, value)| is_kept(value, kept.get(name))),
        (Table(typed), None) => typed.values().all(|value| is_kept(value, None)),
        (Array(typed), Some(Array(kept))) => {
            typed.len() == kept.len() && typed.iter().zip(kept).all(|(typed, kept)| is_kept(typed, Some(kept)))
        }
        (Array(typed), None) => typed.is_empty(),
        (String(typed), None) => typed == "none",
        (Float(typed), Some(Float(kept))) => is_rounded(*typed, *kept) || typed.is_nan() && kept.is_nan(),
        (Integer(typed), Some(Float(kept))) => is_rounded(*typed as f64, *kept),
        (Float(float), Some(Integer(integer))) => *float == *integer as f64,
        (typed, kept) => Some(typed) == kept,
    }
}

/// Whether a float dtype rounds the number `typed` to `kept`.
fn is_rounded(typed: f64, kept: f64) -> bool {
    typed == kept || DType::FLOATS_AND_F8.into_iter().any(|dtype| dtype.round(typed) == kept)
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
