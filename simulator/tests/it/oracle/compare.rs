//! Comparison and selection, by the order of the numbers.

use std::cmp::Ordering;

use super::float::order;
use super::{Oracle, flushed, typed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if name.contains(".ftz.") && !name.starts_with("slct") {
        return flushed(name, of, true);
    }
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["selp", suffix] => {
            let one = Type::named(suffix)?;
            let from = vec![one, one, Type::Pred];
            Some(Oracle::plain(name, from, one, |x| if x[2] & 1 == 1 { x[0] } else { x[1] }))
        }
        ["slct", ref ftz @ .., to, of] => {
            let (to, of, flushes) = (Type::named(to)?, Type::named(of)?, !ftz.is_empty());
            Some(Oracle::plain(name, vec![to, to, of], to, move |x| {
                let third = if flushes && x[2] & 0x7f80_0000 == 0 { 0 } else { x[2] };
                let order = if of.is_integer() { Some(of.integer(third).cmp(&0)) } else { order(of, third, 0) };
                if order.is_some_and(Ordering::is_ge) { x[0] } else { x[1] }
            }))
        }
        ["setp", test, of] if !of.ends_with("x2") => Some(comparison(name, test, Type::Pred, 1)),
        ["setp", test, of] => predicates(name, test, None, of),
        ["setp", test, combine, of] => predicates(name, test, Some(combine), of),
        ["set", test, to, of] => numbers(name, test, None, to, of),
        ["set", test, combine, to, of] => numbers(name, test, Some(combine), to, of),
        _ => None,
    }
}

/// `and`, `or` or `xor` of a comparison and a third operand, if there is one.
fn combined(combine: Option<&str>, test: bool, other: u64) -> bool {
    let other = other & 1 == 1;
    match combine {
        None => test,
        Some("and") => test && other,
        Some("or") => test || other,
        _ => test != other,
    }
}

/// The comparisons of a pair, or one and its complement, combined with a predicate.
fn predicates(name: &str, test: &str, combine: Option<&str>, of: &str) -> Option<Oracle> {
    let one = Type::named(of)?;
    let mut from = vec![one; 2];
    let (mut code, mut to) = (format!("{name} %d0|%d1, %a0, %a1"), vec![Type::Pred; 2]);
    if combine.is_some() {
        from.push(Type::Pred);
        code += ", %a2";
    }
    if combine.is_none() && !of.ends_with("x2") {
        to.truncate(1);
    }
    let half = of.strip_suffix("x2").and_then(Type::named);
    let (test, combine) = (test.to_string(), combine.map(str::to_string));
    let value = move |x: &[u64]| {
        let compared = |a: u64, b: u64| match half {
            _ if one.is_integer() => holds(&test, Some(one.integer(a).cmp(&one.integer(b)))),
            Some(half) => holds(&test, order(half, a & 0xffff, b & 0xffff)),
            None => holds(&test, order(one, a, b)),
        };
        let first = compared(x[0], x[1]);
        let second = if half.is_some() { compared(x[0] >> 16, x[1] >> 16) } else { !first };
        let other = x.get(2).copied().unwrap_or_default();
        [first, second].map(|test| u64::from(combined(combine.as_deref(), test, other))).to_vec()
    };
    Some(Oracle { code: code + ";", from, to, any_nan: false, value: Box::new(value) })
}

/// The comparison, or those of a pair, combined with a predicate, as numbers.
fn numbers(name: &str, test: &str, combine: Option<&str>, to: &str, of: &str) -> Option<Oracle> {
    let (to, from) = (Type::named(to)?, Type::named(of)?);
    let plain = if matches!(from, Type::F16x2 | Type::Bf16x2) {
        packed(name, test, from, to)
    } else {
        let truth = match to {
            Type::F32 => 0x3f80_0000,
            Type::F16 => 0x3c00,
            Type::Bf16 => 0x3f80,
            _ => ones(to.bits()),
        };
        comparison(name, test, to, truth)
    };
    let Some(combine) = combine.map(str::to_string) else { return Some(plain) };
    // All ones, or one, in each half or the whole.
    let pair = matches!(from, Type::F16x2 | Type::Bf16x2);
    let masks: &[u64] = if pair { &[0xffff, 0xffff_0000] } else { &[u64::MAX] };
    let always = match to {
        Type::F32 => 0x3f80_0000,
        Type::F16 => 0x3c00,
        Type::Bf16 => 0x3f80,
        Type::F16x2 => 0x3c00_3c00,
        Type::Bf16x2 => 0x3f80_3f80,
        _ => ones(to.bits()),
    };
    Some(Oracle::plain(name, vec![from, from, Type::Pred], to, move |x| {
        let compared = (plain.value)(&x[..2])[0];
        let part = |mask: &u64| if combined(Some(&combine), compared & mask != 0, x[2]) { always & mask } else { 0 };
        masks.iter().map(part).sum()
    }))
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
