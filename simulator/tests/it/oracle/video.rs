//! Differences of bytes, one byte after the other.

use super::Oracle;
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    let parts: Vec<&str> = name.split('.').collect();
    let ["vabsdiff4", to, first, second, ref end @ ..] = parts[..] else { return None };
    let [to, first, second] = [Type::named(to)?, Type::named(first)?, Type::named(second)?];
    let (adds, saturates) = (end == ["add"], end == ["sat"]);
    Some(Oracle::plain(name, vec![first, second, to], to, move |x| {
        let byte = |one: Type, word: u64| match one {
            Type::Signed(_) => Type::Signed(8).integer(word & 0xff),
            _ => i128::from(word & 0xff),
        };
        let mut sum = if adds { i128::from(x[2]) } else { 0 };
        for at in [0, 8, 16, 24] {
            let difference = (byte(first, x[0] >> at) - byte(second, x[1] >> at)).abs();
            let largest = if matches!(to, Type::Signed(_)) { 127 } else { 255 };
            let limited = if saturates { difference.min(largest) } else { difference };
            sum += if adds { limited } else { (limited & 0xff) << at };
        }
        sum as u64 & ones(32)
    }))
}
