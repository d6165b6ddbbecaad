//! The video instruction that GPUs still have (PTX ISA 9.7.18.3): absolute differences of the four bytes of a register. The
//! compiler emulates the others, and does not emit them.

use super::{Action, Table};
use crate::lanes::{Lanes, WARP};

/// What is done with the four differences.
const REPLACE: u8 = 0;
/// [`REPLACE`], limited to the range of the destination.
const SATURATE: u8 = 1;
/// Adds them to the third source.
const ADD: u8 = 2;

pub(super) fn forms(table: &mut Table) {
    table.group("Video instructions (9.7.18)");
    macro_rules! ends {
        ($($kinds:literal $d:literal $a:literal $b:literal),+) => {$(
            table.add(concat!("vabsdiff4.", $kinds), Action::Three(differences::<$d, $a, $b, REPLACE>));
            table.add(concat!("vabsdiff4.", $kinds, ".sat"), Action::Three(differences::<$d, $a, $b, SATURATE>));
            table.add(concat!("vabsdiff4.", $kinds, ".add"), Action::Three(differences::<$d, $a, $b, ADD>));
        )+};
    }
    // Whether destination, first and second source have signs.
    ends!(
        "u32.u32.u32" false false false, "u32.u32.s32" false false true, "u32.s32.u32" false true false,
        "u32.s32.s32" false true true, "s32.u32.u32" true false false, "s32.u32.s32" true false true,
        "s32.s32.u32" true true false, "s32.s32.s32" true true true
    );
}

fn differences<const D: bool, const A: bool, const B: bool, const END: u8>(
    a: &Lanes,
    b: &Lanes,
    c: &Lanes,
    out: &mut Lanes,
) {
    let byte = |word: u64, place: usize, signed: bool| {
        let byte = (word >> (8 * place)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    let (least, most) = if D { (i8::MIN.into(), i8::MAX.into()) } else { (0, u8::MAX.into()) };
    for lane in 0..WARP {
        let differences = [0, 1, 2, 3].map(|place| (byte(a[lane], place, A) - byte(b[lane], place, B)).abs());
        let result = match END {
            REPLACE => u32::from_le_bytes(differences.map(|one| one as u8)),
            SATURATE => u32::from_le_bytes(differences.map(|one: i32| one.clamp(least, most) as u8)),
            _ => differences.into_iter().fold(c[lane] as u32, |sum, one| sum.wrapping_add(one as u32)),
        };
        out[lane] = u64::from(result);
    }
}
