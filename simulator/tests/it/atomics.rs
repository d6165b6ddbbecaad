//! Atomics with colliding lanes: each lane sees what the lane before it left.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, Round};

use simulator::isa;

use crate::machine::{HEADER, Shape, longs, run, table};
use crate::oracle::float::{bits, with};
use crate::types::{Random, Type, ones};

struct Form {
    name: String,
    /// `.global`, `.shared`, or nothing for generic.
    space: &'static str,
    operation: String,
    one: Type,
}

fn parse(name: &str) -> Option<Form> {
    let rest = name.strip_prefix("atom.")?;
    let space = [".global", ".shared"].into_iter().find(|space| rest.starts_with(&space[1..])).unwrap_or("");
    let (operation, suffix) = rest[space.len()..].rsplit_once('.')?;
    let known =
        ["add", "add.noftz", "min.noftz", "max.noftz", "cas", "exch", "min", "max", "and", "or", "xor", "inc", "dec"]
            .contains(&operation);
    let operation = operation.to_string();
    known.then_some(Form { name: name.to_string(), space, operation, one: Type::named(suffix)? })
}

/// Whether these tests execute a form.
pub fn covers(name: &str) -> bool {
    parse(name).is_some()
}

impl Form {
    fn update(&self, old: u64, operand: u64, other: u64) -> u64 {
        let one = self.one;
        let number = |bits| one.integer(bits);
        match self.operation.as_str() {
            "exch" => operand,
            "cas" => {
                if old == operand {
                    other
                } else {
                    old
                }
            }
            "and" => old & operand,
            "or" => old | operand,
            "xor" => old ^ operand,
            // Counts up to the operand and begins again, or down from it.
            "inc" => {
                if number(old) >= number(operand) {
                    0
                } else {
                    old + 1
                }
            }
            "dec" => {
                if old == 0 || number(old) > number(operand) {
                    operand
                } else {
                    old - 1
                }
            }
            "min" => {
                if number(old) < number(operand) {
                    old
                } else {
                    operand
                }
            }
            "max" => {
                if number(old) > number(operand) {
                    old
                } else {
                    operand
                }
            }
            _ if one.is_float() => {
                let add = |old: u64, operand: u64| {
                    with!(one, F => {
                        let (a, b) = (F::from_bits(old.into()), F::from_bits(operand.into()));
                        let less = a < b || a == b && a.is_negative();
                        bits(one, match self.operation.as_str() {
                            "min.noftz" | "max.noftz" if a.is_nan() => b,
                            "min.noftz" | "max.noftz" if b.is_nan() => a,
                            "min.noftz" => if less { a } else { b },
                            "max.noftz" => if less { b } else { a },
                            _ => a.add_r(b, Round::NearestTiesToEven).value,
                        })
                    })
                };
                match one {
                    Type::F16x2 | Type::Bf16x2 => {
                        add(old & 0xffff, operand & 0xffff) | add(old >> 16, operand >> 16) << 16
                    }
                    _ => add(old, operand),
                }
            }
            _ => (number(old) + number(operand)) as u64 & ones(one.bits()),
        }
    }

    /// Cells of 8 bytes, four in all; thread `t` updates cell `t % 4`. `%in` has its operands, `%out` gets the old value.
    fn kernel(&self, shared: bool) -> String {
        let width = self.one.bits();
        let third = if self.operation == "cas" { ", %c" } else { "" };
        let window = match (shared, self.space) {
            (true, "") => "mov.u64 %at, s;\ncvta.shared.u64 %at, %at;\n",
            (true, _) => "mov.u64 %at, s;\n",
            _ => "ld.param.u64 %at, [cells];\n",
        };
        let mut text = format!("{HEADER}.visible .entry k(.param .u64 cells, .param .u64 from, .param .u64 to)\n{{\n");
        text += ".shared .align 8 .b8 s[32];\n.reg .b32 %i, %j;\n.reg .b64 %cells, %in, %out, %at, %o, %t, %own;\n";
        text += &format!(".reg .b{width} %old, %b, %c;\nmov.u32 %i, %tid.x;\nand.b32 %j, %i, 3;\n");
        text += "mul.wide.u32 %own, %j, 8;\nld.param.u64 %cells, [cells];\nadd.s64 %cells, %cells, %own;\n";
        text += "mul.wide.u32 %o, %i, 16;\nld.param.u64 %in, [from];\nadd.s64 %in, %in, %o;\n";
        text += "mul.wide.u32 %o, %i, 8;\nld.param.u64 %out, [to];\nadd.s64 %out, %out, %o;\n";
        text += "mov.u64 %at, s;\nadd.s64 %at, %at, %own;\nld.global.b64 %t, [%cells];\nst.shared.b64 [%at], %t;\n";
        text += "bar.sync 0;\n";
        text += window;
        text += "add.s64 %at, %at, %own;\n";
        text += &format!("ld.global.b{width} %b, [%in];\nld.global.b{width} %c, [%in+8];\n");
        text += &format!("{} %old, [%at], %b{third};\nst.global.b{width} [%out], %old;\nbar.sync 0;\n", self.name);
        if shared {
            text += "mov.u64 %at, s;\nadd.s64 %at, %at, %own;\nld.shared.b64 %t, [%at];\nst.global.b64 [%cells], %t;\n";
        }
        text + "ret;\n}\n"
    }
}

#[test]
fn lanes_that_collide_update_one_after_the_other() {
    let forms: Vec<Form> = table().iter().filter_map(|name| parse(name)).collect();
    assert!(forms.len() >= 84, "only {} forms", forms.len());
    for form in forms {
        let (edges, specials) = (form.one.edges(), form.one.specials());
        let windows: &[bool] = match form.space {
            ".shared" => &[true],
            ".global" => &[false],
            _ => &[false, true],
        };
        for (seed, &shared) in (0..8).flat_map(|seed| windows.iter().map(move |window| (seed, window))) {
            let mut random = Random(seed);
            let mut pick = |values: &[u64]| values[random.below(values.len())];
            let cells: Vec<u64> = (0..4).map(|_| pick(&edges)).collect();
            // Few values, so that some comparisons of `cas` succeed.
            let others: Vec<u64> = (0..4).flat_map(|_| [pick(&edges), pick(&specials)]).collect();
            let pool = [cells.as_slice(), &others].concat();
            let operands: Vec<u64> = (0..128).map(|_| pick(&pool)).collect();
            let to_bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
            let mut buffers = [to_bytes(&cells), to_bytes(&operands), vec![0; 64 * 8]];
            run(&form.kernel(shared), Shape::line(1, 64), &mut buffers, &[]).expect(&form.name);

            let (mut left, mut seen) = (cells.clone(), Vec::new());
            for (thread, pair) in operands.chunks(2).enumerate() {
                let cell = &mut left[thread % 4];
                seen.push(*cell);
                *cell = form.update(*cell, pair[0], pair[1]);
            }
            let nan = |bits: u64| if form.one == Type::F64 { form.one.one_nan(bits) } else { bits };
            let plain = |words: Vec<u64>| words.into_iter().map(nan).collect::<Vec<_>>();
            assert_eq!(plain(longs(&buffers[2])), plain(seen), "what {} gave", form.name);
            assert_eq!(plain(longs(&buffers[0])), plain(left), "what {} left", form.name);
        }
    }
}

#[test]
fn order_scope_and_cache_name_the_same_operation() {
    for (name, plain) in [
        ("atom.global.cta.add.u32", "atom.global.add.u32"),
        ("atom.add.relaxed.gpu.s32", "atom.add.s32"),
        ("atom.acq_rel.sys.shared.cas.b64", "atom.shared.cas.b64"),
        ("ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32"),
        ("st.release.sys.b64", "st.relaxed.gpu.b64"),
        ("ld.global.cg.v4.f32", "ld.global.v4.f32"),
        ("st.global.wt.b32", "st.global.b32"),
    ] {
        let [named, plain] = [name, plain].map(|name| isa::form(name).map(|action| format!("{action:?}")));
        assert!(named.is_some() && named == plain, "{name}: {named:?}");
    }
    assert!(isa::form("atom.relaxed.gpu.nonsense.u32").is_none());
}
