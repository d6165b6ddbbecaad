//! Comparison and selection, by the order of the numbers.

use std::cmp::Ordering;

use super::float::order;
use super::{Oracle, flushed, typed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if name.contains(".ftz.") {
        return flushed(name, of);
    }
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["selp", suffix] => {
            let one = Type::named(suffix)?;
            let from = vec![one, one, Type::Pred];
            Some(Oracle::plain(name, from, one, |x| if x[2] & 1 == 1 { x[0] } else { x[1] }))
        }
        ["setp", test, _] => Some(comparison(name, test, Type::Pred, 1)),
        ["set", test, to, _] => {
            let to = Type::named(to)?;
            let from = typed(name)?.1;
            if matches!(from, Type::F16x2 | Type::Bf16x2) {
                return Some(packed(name, test, from, to));
            }
            let truth = match to {
                Type::F32 => 0x3f80_0000,
                Type::F16 => 0x3c00,
                Type::Bf16 => 0x3f80,
                _ => ones(to.bits()),
            };
            Some(comparison(name, test, to, truth))
        }
        _ => None,
    }
}

fn comparison(name: &str, test: &str, to: Type, truth: u64) -> Oracle {
    let one = typed(name).map_or(Type::Pred, |(_, one)| one);
    let test = test.to_string();
    Oracle::plain(name, vec![one; 2], to, move |x| {
        let order =
            if one.is_integer() { Some(one.integer(x[0]).cmp(&one.integer(x[1]))) } else { order(one, x[0], x[1]) };
        if holds(&test, order) { truth } else { 0 }
    })
}

/// Two comparisons, each with a half of the result.
fn packed(name: &str, test: &str, from: Type, to: Type) -> Oracle {
    let (half, one) = if from == Type::F16x2 { (Type::F16, 0x3c00) } else { (Type::Bf16, 0x3f80) };
    let (test, truth) = (test.to_string(), if to == from { one } else { 0xffff });
    Oracle::plain(name, vec![from; 2], to, move |x| {
        let compared = |at: u32| holds(&test, order(half, x[0] >> at & 0xffff, x[1] >> at & 0xffff));
        [0, 16].into_iter().filter(|at| compared(*at)).map(|at| truth << at).sum()
    })
}

/// The tests of 9.7.6: `None` is unordered, as a number and a NaN are.
fn holds(test: &str, order: Option<Ordering>) -> bool {
    let ordered = match test {
        "lo" => "lt",
        "ls" => "le",
        "hi" => "gt",
        "hs" => "ge",
        _ => test,
    };
    let Some(order) = order else {
        return ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"].contains(&test);
    };
    // A final `u` adds the unordered case, and changes nothing for numbers.
    match ordered.trim_end_matches('u') {
        "eq" => order == Ordering::Equal,
        "ne" => order != Ordering::Equal,
        "lt" => order == Ordering::Less,
        "le" => order != Ordering::Greater,
        "gt" => order == Ordering::Greater,
        "ge" => order != Ordering::Less,
        test => test == "num",
    }
}
