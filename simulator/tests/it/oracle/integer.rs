//! Integer arithmetic in 128 bits, cut to the width of the result.

use super::{Oracle, typed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if let Some(signs) = name.strip_prefix("dp4a.") {
        let (a, b) = signs.split_once('.')?;
        return Some(dot(name, Type::named(a)?, Type::named(b)?));
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
    type Compute = Box<dyn Fn(&[i128]) -> i128>;
    let (operands, to, compute): (usize, Type, Compute) = match operation {
        "add" => (2, one, Box::new(|x| x[0] + x[1])),
        "sub" => (2, one, Box::new(|x| x[0] - x[1])),
        "mul.lo" => (2, one, Box::new(product)),
        "mul.hi" => (2, one, Box::new(move |x| product(x) >> bits)),
        "mul.wide" => (2, twice, Box::new(product)),
        "mad.lo" => (3, one, Box::new(move |x| product(x).wrapping_add(x[2]))),
        "mad.wide" => (3, twice, Box::new(move |x| product(x).wrapping_add(x[2]))),
        "min" => (2, one, Box::new(|x| if x[0] < x[1] { x[0] } else { x[1] })),
        "max" => (2, one, Box::new(|x| if x[0] < x[1] { x[1] } else { x[0] })),
        // Undefined by the ISA for zero. Here: all ones, and the dividend.
        "div" => (2, one, Box::new(|x| if x[1] == 0 { -1 } else { x[0] / x[1] })),
        "rem" => (2, one, Box::new(|x| if x[1] == 0 { x[0] } else { x[0] % x[1] })),
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

fn dot(name: &str, a: Type, b: Type) -> Oracle {
    let byte = |sign: Type, word: u64, place: usize| {
        let byte = i128::from(word >> (8 * place) & 0xff);
        if matches!(sign, Type::Signed(_)) && byte > 127 { byte - 256 } else { byte }
    };
    Oracle::plain(name, vec![a, b, Type::Signed(32)], Type::Bits(32), move |x| {
        let products = (0..4).map(|place| byte(a, x[0], place) * byte(b, x[1], place));
        (products.sum::<i128>() + i128::from(x[2])) as u64 & ones(32)
    })
}
