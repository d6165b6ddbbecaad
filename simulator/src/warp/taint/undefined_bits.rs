//! Which bits of a result were never written, because those of its sources were not.

use crate::isa::TaintRule;
use crate::kernel::Inst;
use crate::lanes::{Lanes, WARP};
use crate::shadowed_buffer::UndefinedBits;

/// The undefined bits of a result, of its sources' values and undefined bits.
pub fn undefined_bits(inst: &Inst, from: [(&Lanes, &UndefinedBits); 4], sources: usize) -> UndefinedBits {
    let from = &from[..sources];
    // The first bit of a lane on which something depends that is not known; 64 if there is none.
    let lowest = |lane: usize| from.iter().fold(0, |all, (_, undefined)| all | undefined[lane]).trailing_zeros();
    let any = |lane: usize| lowest(lane) < u64::BITS;
    match inst.taint_rule {
        TaintRule::Whole => std::array::from_fn(|lane| if any(lane) { u64::MAX } else { 0 }),
        TaintRule::Halves => std::array::from_fn(|lane| {
            let of_half =
                |half: u64| if from.iter().any(|(_, undefined)| undefined[lane] & half != 0) { half } else { 0 };
            of_half(0xffff) | of_half(0xffff_0000)
        }),
        TaintRule::Upwards => std::array::from_fn(|lane| u64::MAX.checked_shl(lowest(lane)).unwrap_or(0)),
        TaintRule::Equality(bytes) => std::array::from_fn(|lane| {
            let [(a, of_a), (b, of_b)] = [from[0], from[1]].map(|(value, undefined)| (value[lane], undefined[lane]));
            let decided = (a ^ b) & !(of_a | of_b) & u64::MAX >> (64 - 8 * bytes) != 0;
            if any(lane) && !decided { u64::MAX } else { 0 }
        }),
        TaintRule::Bits { controls } => bit_by_bit(inst, from, controls),
        TaintRule::Part(bytes) => bit_by_bit(inst, from, 0).map(|bits| bits & u64::MAX >> (64 - 8 * bytes)),
        TaintRule::Choose => bit_by_bit(inst, from, 0b100),
    }
}

/// The undefined bits of a result in which a bit depends on at most one bit of each source: those that change if the undefined bits of
/// the sources are all zeros, or all ones. Everything depends on the sources of `controls`.
fn bit_by_bit(inst: &Inst, from: &[(&Lanes, &UndefinedBits)], controls: u8) -> UndefinedBits {
    let controls = |source: usize| controls >> source & 1 != 0;
    let unknown: Vec<usize> =
        (0..from.len()).filter(|&source| !controls(source) && from[source].1.iter().any(|&bits| bits != 0)).collect();
    let mut values = [[0; WARP]; 4];
    for (value, (known, _)) in values.iter_mut().zip(from) {
        *value = **known;
    }
    let (mut always, mut ever) = ([u64::MAX; WARP], [0; WARP]);
    for ones in 0..1_u32 << unknown.len() {
        for (place, &source) in unknown.iter().enumerate() {
            let (known, undefined) = from[source];
            let filling = if ones >> place & 1 != 0 { u64::MAX } else { 0 };
            values[source] = std::array::from_fn(|lane| known[lane] & !undefined[lane] | filling & undefined[lane]);
        }
        let result = inst.op.computed(&values);
        for lane in 0..WARP {
            always[lane] &= result[lane];
            ever[lane] |= result[lane];
        }
    }
    std::array::from_fn(|lane| {
        let is_controlled = (0..from.len()).any(|source| controls(source) && from[source].1[lane] != 0);
        if is_controlled { u64::MAX } else { ever[lane] & !always[lane] }
    })
}

#[cfg(test)]
mod tests {
    use super::{Inst, Lanes, UndefinedBits, WARP, undefined_bits};
    use crate::isa::{self, Action};
    use crate::kernel::Op;

    /// Forms of each rule. With `true`, no bit is called undefined that cannot change; controls are known.
    const FORMS: [(&str, bool); 34] = [
        ("and.b32", true),
        ("or.b64", true),
        ("xor.b32", true),
        ("not.b16", true),
        ("and.pred", true),
        ("lop3.b32", true),
        ("shl.b32", true),
        ("shr.u64", true),
        ("shr.s32", true),
        ("shf.l.wrap.b32", true),
        ("shf.r.clamp.b32", true),
        ("bfi.b32", true),
        ("bfi.b64", true),
        ("bfe.u32", true),
        ("bfe.s64", true),
        ("szext.clamp.s32", true),
        ("brev.b32", true),
        ("prmt.b32", true),
        ("prmt.b32.rc8", true),
        ("cvt.s64.s32", true),
        ("cvt.u32.u64", true),
        ("cvt.s16.s8", true),
        ("selp.b32", true),
        ("neg.f16x2", true),
        ("add.s32", false),
        ("sub.u64", false),
        ("neg.s16", false),
        ("mul.lo.u32", false),
        ("mad.lo.s32", false),
        ("mul.wide.s32", false),
        ("mad.wide.u32", false),
        ("setp.eq.s32", false),
        ("fma.rn.f16x2", false),
        ("cvt.rn.satfinite.e4m3x2.f16x2", false),
    ];

    #[test]
    fn a_bit_is_undefined_if_undefined_bits_can_change_it() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for (name, exact) in FORMS {
            let form = isa::form(name).unwrap_or_else(|| panic!("{name} is in the table"));
            let (op, sources) = match form.action {
                Action::One(run) => (Op::One(run), 1),
                Action::Two(run) => (Op::Two(run), 2),
                Action::Three(run) => (Op::Three(run), 3),
                Action::Four(run) => (Op::Four(run), 4),
                _ => panic!("{name} is not a function of lanes"),
            };
            let inst = Inst { taint_rule: form.taint, ..Inst::new(op) };
            for round in 0..40 {
                let mut lanes = || -> Lanes { std::array::from_fn(|_| random() >> (round % 4 * 13)) };
                let values: [Lanes; 4] = std::array::from_fn(|_| lanes());
                let undefined: [UndefinedBits; 4] = std::array::from_fn(|source| {
                    let is_control = exact && source > 0 && !matches!(source, 1 if two_values(name));
                    if is_control { [0; WARP] } else { lanes().map(|bits| bits & bits >> 5 & bits >> 9) }
                });
                let from = std::array::from_fn(|source| (&values[source], &undefined[source]));
                let called = undefined_bits(&inst, from, sources);
                let known = op.computed(&values);
                let mut changed = [0; WARP];
                for _ in 0..200 {
                    let filled = std::array::from_fn(|source| {
                        let (value, undefined) = (values[source], undefined[source]);
                        std::array::from_fn(|lane| value[lane] & !undefined[lane] | random() & undefined[lane])
                    });
                    for (lane, result) in op.computed(&filled).into_iter().enumerate() {
                        changed[lane] |= result ^ known[lane];
                    }
                }
                for lane in 0..WARP {
                    let missed = changed[lane] & !called[lane];
                    assert_eq!(missed, 0, "{name} misses bits of {:x?}", values.map(|value| value[lane]));
                    let many = called[lane] & !changed[lane];
                    assert!(!exact || many == 0, "{name} calls {many:x} undefined of {:x?}", values.map(|v| v[lane]));
                }
            }
        }
    }

    /// True if the second source is not a control either.
    fn two_values(name: &str) -> bool {
        ["and", "or", "xor", "lop3", "shf", "bfi", "prmt", "selp"].contains(&name.split('.').next().unwrap_or(name))
    }
}
