//! Video instructions without selected parts, by their definition in the PTX ISA, in wide integers.

use super::Oracle;
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let first = parts.remove(0).strip_prefix('v')?;
    let kind = first.trim_end_matches(['2', '4']).to_string();
    let count = first[kind.len()..].parse().unwrap_or(1u32);
    if !["add", "sub", "absdiff", "min", "max", "avrg", "shl", "shr", "mad", "set"].contains(&kind.as_str()) {
        return None;
    }
    let mut types = Vec::new();
    while let Some(one) = parts.first().and_then(|part| Type::named(part)) {
        types.push(one);
        parts.remove(0);
    }
    let (to, a, b) = match types[..] {
        [to, a, b] => (to, a, b),
        [a, b] => (Type::Unsigned(32), a, b),
        _ => return None,
    };
    let has = |word: &str| parts.contains(&word);
    let second = ["add", "min", "max"].into_iter().find(|word| has(word));
    let test = parts.iter().find(|part| ["eq", "ne", "lt", "le", "gt", "ge"].contains(part)).map(ToString::to_string);
    let (saturates, wraps, plus_one) = (has("sat"), has("wrap"), has("po"));
    let down = if has("shr7") {
        7
    } else if has("shr15") {
        15
    } else {
        0
    };
    let mut from = vec![a, b];
    if second.is_some() || count > 1 || kind == "mad" {
        from.push(to);
    }
    let width = 32 / count;
    let narrow =
        move |one: Type| if matches!(one, Type::Signed(_)) { Type::Signed(width) } else { Type::Unsigned(width) };
    let limited = move |one: Type, x: i128| {
        let (least, most) = match one {
            Type::Signed(bits) => (-1i128 << (bits - 1), (1 << (bits - 1)) - 1),
            other => (0, i128::from(ones(other.bits()))),
        };
        if saturates { x.clamp(least, most) } else { x }
    };
    if kind == "mad" {
        let signed = matches!(a, Type::Signed(_)) || matches!(b, Type::Signed(_));
        let word = if signed { Type::Signed(32) } else { Type::Unsigned(32) };
        return Some(Oracle::plain(name, from, to, move |x| {
            let sum = a.integer(x[0]) * b.integer(x[1]) + word.integer(x[2]) + i128::from(plus_one);
            limited(word, sum >> down) as u64 & ones(32)
        }));
    }
    Some(Oracle::plain(name, from, to, move |x| {
        let third = x.get(2).copied().unwrap_or_default();
        let mut lanes = (0..count).map(|lane| {
            let part = |one: Type, word: u64| narrow(one).integer(word >> (lane * width) & ones(width));
            let (p, q) = (part(a, x[0]), part(b, x[1]));
            let by = if wraps { q % 32 } else { q.min(32) };
            let result = match kind.as_str() {
                "add" => p + q,
                "sub" => p - q,
                "absdiff" => {
                    if p > q {
                        p - q
                    } else {
                        q - p
                    }
                }
                "min" => p.min(q),
                "max" => p.max(q),
                // Rounded up, but a negative sum down.
                "avrg" => (p + q + i128::from(p + q >= 0)).div_euclid(2),
                "shl" => p * (1 << by),
                "shr" => p.div_euclid(1 << by),
                _ => i128::from(match test.as_deref() {
                    Some("eq") => p == q,
                    Some("ne") => p != q,
                    Some("lt") => p < q,
                    Some("le") => p <= q,
                    Some("gt") => p > q,
                    _ => p >= q,
                }),
            };
            limited(narrow(to), result)
        });
        let number = to.integer(third);
        let all = match second {
            Some("add") => lanes.sum::<i128>() + number,
            Some("min") => lanes.next().expect("one").min(number),
            Some(_) => lanes.next().expect("one").max(number),
            None => lanes.zip(0u32..).map(|(one, lane)| (one & i128::from(ones(width))) << (lane * width)).sum(),
        };
        all as u64 & ones(32)
    }))
}
