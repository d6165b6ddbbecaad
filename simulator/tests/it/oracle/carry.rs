//! Extended-precision arithmetic: the carry flag is put before the instruction and read after it.

use super::{Oracle, typed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    let (operation, one) = typed(name)?;
    let parts: Vec<&str> = operation.split('.').collect();
    let (base, high, carries) = (parts[0], parts.contains(&"hi"), parts.contains(&"cc"));
    let takes = ["addc", "subc", "madc"].contains(&base);
    if !matches!(one, Type::Unsigned(_) | Type::Signed(_)) || !carries && !takes {
        return None;
    }
    let sources = if base.starts_with("mad") { "%a0, %a1, %a2" } else { "%a0, %a1" };
    // Adding all ones to 0 or 1 makes the carry flag 0 or 1; a sum of zeros shows it.
    let code = format!(
        ".reg .b32 %c;\nselp.b32 %c, 1, 0, %a3;\nadd.cc.u32 %c, %c, 0xffffffff;\n\
         {name} %d0, {sources};\naddc.u32 %d1, 0, 0;"
    );
    let kind = base[..3].to_string();
    let bits = one.bits();
    let value = move |x: &[u64]| {
        let flag = x[3] & 1;
        let carry = if takes { u128::from(flag) } else { 0 };
        let (a, b) = (u128::from(x[0]), u128::from(x[1]));
        let (result, carried) = match kind.as_str() {
            "add" => (a + b + carry, (a + b + carry) >> bits != 0),
            // On an H200 a subtraction adds the complement: its flag is the inverse of a borrow.
            "sub" => {
                let sum = a + (!b & u128::from(ones(bits))) + if takes { carry } else { 1 };
                (sum, sum >> bits != 0)
            }
            _ => {
                let product = one.integer(x[0]).wrapping_mul(one.integer(x[1])) as u128;
                let half = (if high { product >> bits } else { product }) & u128::from(ones(bits));
                let sum = half + u128::from(x[2]) + carry;
                (sum, sum >> bits != 0)
            }
        };
        let after = if carries { u64::from(carried) } else { flag };
        vec![result as u64 & ones(bits), after]
    };
    let from = vec![one, one, one, Type::Pred];
    Some(Oracle { code, from, to: vec![one, Type::Unsigned(32)], any_nan: false, value: Box::new(value) })
}
