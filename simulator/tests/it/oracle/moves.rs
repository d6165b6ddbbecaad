//! Moves of whole registers, and between a register and a vector of its parts.

use super::Oracle;
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if let Some(width) = name.strip_prefix("pack.") {
        return Some(pack(width.parse().ok()?));
    }
    if let Some(at) = name.strip_prefix("unpack.") {
        return unpack(at.parse().ok()?);
    }
    let suffix = name.strip_prefix("mov.")?;
    // A register of 128 bits is only moved here.
    let one = Type::named(suffix).or((suffix == "b128").then_some(Type::Bits(64)))?;
    Some(Oracle::plain(name, vec![one], one, move |x| x[0] & ones(one.register())))
}

/// `pack.N` stands for `mov` of two parts of N bits into one register, and of four.
fn pack(width: u32) -> Oracle {
    let whole = Type::Bits(2 * width);
    let (mut code, part) = match width {
        8 => (".reg .b8 %h<4>;\n".to_string() + &(0..4).map(narrowed).collect::<String>(), "%h"),
        _ => (String::new(), "%a"),
    };
    code += &format!("mov.b{} %d0, {{{part}0, {part}1}};", 2 * width);
    let (mut from, mut to) = (vec![Type::Bits(width); 2], vec![whole]);
    if width < 32 {
        code += &format!("\nmov.b{} %d1, {{{part}0, {part}1, {part}2, {part}3}};", 4 * width);
        from = vec![Type::Bits(width); 4];
        to.push(Type::Bits(4 * width));
    }
    let value = move |x: &[u64]| {
        let join = |count: u32| (0..count).map(|part| (x[part as usize] & ones(width)) << (part * width)).sum();
        if width < 32 { vec![join(2), join(4)] } else { vec![join(2)] }
    };
    Oracle { code, from, to, any_nan: false, value: Box::new(value) }
}

/// Moves a byte from its word to a register of bytes, of which vectors are made.
fn narrowed(number: u32) -> String {
    format!("cvt.u8.u32 %h{number}, %a{number};\n")
}

/// `unpack.N` stands for the part of a `mov` into a vector that begins at bit N.
fn unpack(at: u32) -> Option<Oracle> {
    // Which parts begin there: (width of the whole, of a part).
    let all: &[(u32, u32)] = match at {
        0 => &[(64, 32), (64, 16), (32, 16), (32, 8)],
        8 => &[(32, 8), (16, 8)],
        16 => &[(64, 16), (32, 16), (32, 8)],
        24 => &[(32, 8)],
        32 => &[(64, 32), (64, 16)],
        48 => &[(64, 16)],
        _ => return None,
    };
    let mut code = ".reg .b8 %h;\n".to_string();
    for (number, (whole, part)) in all.iter().enumerate() {
        let count = whole / part;
        let place = at / part;
        let part = if *part == 8 { "%h".to_string() } else { format!("%d{number}") };
        let parts: Vec<&str> = (0..count).map(|one| if one == place { part.as_str() } else { "_" }).collect();
        code += &format!("mov.b{whole} {{{}}}, %a{};\n", parts.join(", "), whole.trailing_zeros() - 4);
        if part == "%h" {
            code += &format!("cvt.u32.u8 %d{number}, %h;\n");
        }
    }
    let from = vec![Type::Bits(16), Type::Bits(32), Type::Bits(64)];
    let to = all.iter().map(|&(_, part)| Type::Bits(part)).collect();
    let value = move |x: &[u64]| {
        let part = |&(whole, part): &(u32, u32)| x[whole.trailing_zeros() as usize - 4] >> at & ones(part);
        all.iter().map(part).collect()
    };
    Some(Oracle { code, from, to, any_nan: false, value: Box::new(value) })
}
