//! Integer arithmetic in 128 bits, cut to the width of the result.

use super::{Oracle, typed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["dp4a", a, b] => return Some(dot(name, Type::named(a)?, Type::named(b)?, [0, 1, 2, 3], 8)),
        ["dp2a", "lo", a, b] => return Some(dot(name, Type::named(a)?, Type::named(b)?, [0, 1], 16)),
        ["dp2a", "hi", a, b] => return Some(dot(name, Type::named(a)?, Type::named(b)?, [2, 3], 16)),
        _ => {}
    }
    if let Some(name) = name.strip_suffix("x2") {
        return pair(name);
    }
    let (operation, one) = typed(name)?;
    if !matches!(one, Type::Unsigned(_) | Type::Signed(_)) {
        return None;
    }
    let bits = one.bits();
    let twice = match one {
        Type::Signed(bits) => Type::Signed(2 * bits),
        _ => Type::Unsigned(2 * bits),
    };
    let product = |x: &[i128]| x[0].wrapping_mul(x[1]);
    let limits = match one {
        Type::Signed(bits) => (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1),
        _ => (0, (1 << bits) - 1),
    };
    let limited = move |x: i128| x.clamp(limits.0, limits.1);
    // The low 24 bits, with the sign that they have.
    let low = move |x: i128| (x << 104) >> 104 & if limits.0 < 0 { -1 } else { 0xff_ffff };
    let wide = move |x: &[i128]| low(x[0]) * low(x[1]);
    type Compute = Box<dyn Fn(&[i128]) -> i128>;
    let (operands, to, compute): (usize, Type, Compute) = match operation {
        "add" => (2, one, Box::new(|x| x[0] + x[1])),
        "sub" => (2, one, Box::new(|x| x[0] - x[1])),
        "add.sat" => (2, one, Box::new(move |x| limited(x[0] + x[1]))),
        "sub.sat" => (2, one, Box::new(move |x| limited(x[0] - x[1]))),
        "sad" => (3, one, Box::new(|x| (x[0] - x[1]).abs() + x[2])),
        "mad.hi" => (3, one, Box::new(move |x| (product(x) >> bits) + x[2])),
        "mad.hi.sat" => (3, one, Box::new(move |x| limited((product(x) >> bits) + x[2]))),
        "mul24.lo" => (2, one, Box::new(wide)),
        "mul24.hi" => (2, one, Box::new(move |x| wide(x) >> 16)),
        "mad24.lo" => (3, one, Box::new(move |x| wide(x) + x[2])),
        "mad24.hi" => (3, one, Box::new(move |x| (wide(x) >> 16) + x[2])),
        "mad24.hi.sat" => (3, one, Box::new(move |x| limited((wide(x) >> 16) + x[2]))),
        "min.relu" => (2, one, Box::new(|x| 0.max(x[0].min(x[1])))),
        "max.relu" => (2, one, Box::new(|x| 0.max(x[0].max(x[1])))),
        "mul.lo" => (2, one, Box::new(product)),
        "mul.hi" => (2, one, Box::new(move |x| product(x) >> bits)),
        "mul.wide" => (2, twice, Box::new(product)),
        "mad.lo" => (3, one, Box::new(move |x| product(x).wrapping_add(x[2]))),
        "mad.wide" => (3, twice, Box::new(move |x| product(x).wrapping_add(x[2]))),
        "min" => (2, one, Box::new(|x| if x[0] < x[1] { x[0] } else { x[1] })),
        "max" => (2, one, Box::new(|x| if x[0] < x[1] { x[1] } else { x[0] })),
        // Undefined by the ISA for zero. Here: all ones, and the dividend.
        "div" => (2, one, Box::new(|x| if x[1] == 0 { -1 } else { x[0] / x[1] })),
        "rem" => (2, one, Box::new(|x| if x[1] == 0 { -1 } else { x[0] % x[1] })),
        "neg" => (1, one, Box::new(|x| -x[0])),
        "abs" => (1, one, Box::new(|x| if x[0] < 0 { -x[0] } else { x[0] })),
        _ => return None,
    };
    let mut from = vec![one; operands];
    if operation == "mad.wide" {
        from[2] = twice;
    }
    let types = from.clone();
    Some(Oracle::plain(name, from, to, move |operands| {
        let numbers: Vec<i128> = types.iter().zip(operands).map(|(one, &bits)| one.integer(bits)).collect();
        compute(&numbers) as u64 & ones(to.bits())
    }))
}

/// The form of two numbers of 16 bits, by that of one.
fn pair(name: &str) -> Option<Oracle> {
    let one = of(name)?;
    let value = move |x: &[u64]| {
        let half = |at: u32| (one.value)(&x.iter().map(|pair| pair >> at & 0xffff).collect::<Vec<_>>())[0] << at;
        half(0) | half(16)
    };
    Some(Oracle::plain(&format!("{name}x2"), vec![Type::Bits(32); 2], Type::Bits(32), value))
}

/// The bytes of `b` at `places`, each times a number of this width of `a`.
fn dot<const N: usize>(name: &str, a: Type, b: Type, places: [usize; N], width: usize) -> Oracle {
    let part = |sign: Type, word: u64, place: usize, bits: usize| {
        let part = i128::from(word >> (bits * place) & ones(bits as u32));
        if matches!(sign, Type::Signed(_)) && part >> (bits - 1) == 1 { part - (1 << bits) } else { part }
    };
    Oracle::plain(name, vec![a, b, Type::Signed(32)], Type::Bits(32), move |x| {
        let products = (0..N).map(|number| part(a, x[0], number, width) * part(b, x[1], places[number], 8));
        (products.sum::<i128>() + i128::from(x[2])) as u64 & ones(32)
    })
}
