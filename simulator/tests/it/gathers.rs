//! Votes, matches, reductions and barriers with predicates: what each thread learns of the others.

use crate::machine::{HEADER, Shape, longs, run, table, words};

const WHOLE: u32 = u32::MAX;
/// The lanes that execute each instruction a second time, in a branch.
const FEW: u32 = 0x3ff;

/// Values with repetitions, one per lane. The upper halves matter to forms of 64 bits only.
const VALUES: [fn(u64) -> u64; 5] = [
    |lane| (lane % 5) | ((lane % 2) << 40),
    |lane| 0xffff_fff0 + lane % 3 * 7,
    |_| 0x1_8000_0001,
    |lane| lane ^ 0xffff_ffff,
    |lane| u64::from(lane == 9),
];

/// Whether these tests execute a form.
pub fn covers(name: &str) -> bool {
    is_gather(name) || name == "activemask.b32" || parse_barrier(name).is_some()
}

fn is_gather(name: &str) -> bool {
    ["vote.sync.", "match.any.", "match.all.", "redux.sync."].iter().any(|family| name.starts_with(family))
}

/// What lane `lane` must get: a number, and whether the predicate beside it holds.
fn expected(name: &str, values: &[u64], group: u32, lane: usize) -> (u32, bool) {
    let parts: Vec<&str> = name.split('.').collect();
    let members = || (0..32).filter(|&lane| group >> lane & 1 == 1);
    let of = |lane: usize| if name.ends_with("64") { values[lane] } else { values[lane] & 0xffff_ffff };
    let mask = |holds: &dyn Fn(usize) -> bool| members().filter(|&lane| holds(lane)).map(|lane| 1 << lane).sum::<u32>();
    let ballot = mask(&|lane| of(lane) & 1 == 1);
    let signed = name.ends_with("s32");
    let numbers = || members().map(|lane| if signed { i64::from(of(lane) as i32) } else { of(lane) as i64 });
    if name.ends_with("f32") {
        return (of_floats(name, members().map(of)), false);
    }
    let equal = mask(&|other| of(other) == of(lane));
    match parts[..] {
        ["vote", _, "all", _] => (u32::from(ballot == group), false),
        ["vote", _, "any", _] => (u32::from(ballot != 0), false),
        ["vote", _, "uni", _] => (u32::from(ballot == group || ballot == 0), false),
        ["vote", ..] => (ballot, false),
        ["match", "any", ..] => (equal, false),
        ["match", ..] => (if equal == group { group } else { 0 }, equal == group),
        [_, _, "add", _] => (numbers().sum::<i64>() as u32, false),
        [_, _, "min", _] => (numbers().min().expect("a group") as u32, false),
        [_, _, "max", _] => (numbers().max().expect("a group") as u32, false),
        [_, _, "and", _] => (members().map(of).fold(u64::MAX, |all, one| all & one) as u32, false),
        [_, _, "or", _] => (members().map(of).fold(0, |all, one| all | one) as u32, false),
        _ => (members().map(of).fold(0, |all, one| all ^ one) as u32, false),
    }
}

/// The least or greatest of floats, or of their magnitudes.
fn of_floats(name: &str, values: impl Iterator<Item = u64>) -> u32 {
    let floats = values.map(|bits| f32::from_bits(bits as u32));
    let floats: Vec<f32> = floats.map(|x| if name.contains("abs") { x.abs() } else { x }).collect();
    let numbers = || floats.iter().copied().filter(|x| !x.is_nan());
    let ordered = |a: &f32, b: &f32| a.total_cmp(b);
    let found = if name.contains("min") { numbers().min_by(ordered) } else { numbers().max_by(ordered) };
    let nan = name.contains("NaN") && floats.iter().any(|x| x.is_nan());
    found.filter(|_| !nan).map_or(0x7fff_ffff, f32::to_bits)
}

fn gather(name: &str) -> String {
    let (operand, result, pair) = match name.split('.').collect::<Vec<_>>()[..] {
        ["vote", .., "pred"] => ("%p0", "%p1", false),
        ["vote", ..] => ("%p0", "%r1", false),
        ["match", "all", _, kind] => (if kind == "b64" { "%rd2" } else { "%r2" }, "%r1|%p2", true),
        ["match", .., "b64"] => ("%rd2", "%r1", false),
        _ => ("%r2", "%r1", false),
    };
    let once = |mask: u32, at: u32| {
        let number = if result == "%p1" { "selp.b32 %r1, 1, 0, %p1;\n" } else { "" };
        let predicate = if pair { "selp.b32 %r3, 1, 0, %p2;\n" } else { "mov.u32 %r3, 0;\n" };
        format!("{name} {result}, {operand}, {mask};\n{number}{predicate}st.global.v2.u32 [%rd1+{at}], {{%r1, %r3}};\n")
    };
    format!(
        "{HEADER}.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [from];\nld.param.u64 %rd1, [to];\nmov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %rd3, %r0, 8;\nadd.s64 %rd0, %rd0, %rd3;\nmul.wide.u32 %rd3, %r0, 16;\nadd.s64 %rd1, %rd1, %rd3;\n\
         ld.global.u64 %rd2, [%rd0];\ncvt.u32.u64 %r2, %rd2;\nand.b32 %r4, %r2, 1;\nsetp.ne.s32 %p0, %r4, 0;\n\
         {}setp.ge.u32 %p3, %r0, 10;\n@%p3 bra DONE;\n{}DONE:\nret;\n}}\n",
        once(WHOLE, 0),
        once(FEW, 8)
    )
}

#[test]
fn lanes_learn_of_the_values_of_their_group() {
    let names: Vec<String> = table().into_iter().filter(|name| is_gather(name)).collect();
    assert_eq!(names.len(), 25, "{names:?}");
    for name in names {
        for values in VALUES {
            let values: Vec<u64> = (0..32).map(values).collect();
            let from = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let mut buffers = [from, vec![0; 32 * 16]];
            run(&gather(&name), Shape::line(1, 32), &mut buffers, &[])
                .unwrap_or_else(|fault| panic!("{name}: {fault}"));
            for (lane, got) in words(&buffers[1]).chunks(4).enumerate() {
                let pair = |group: u32| {
                    let (number, holds) = expected(&name, &values, group, lane);
                    [number, holds.into()]
                };
                let few = if lane < 10 { pair(FEW) } else { [0; 2] };
                assert_eq!(got, [pair(WHOLE), few].concat(), "{name} in lane {lane} of {values:x?}");
            }
        }
    }
}

#[test]
fn the_active_mask_is_of_the_lanes_that_are_here() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to)\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd0, [to];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 8;\nadd.s64 %rd0, %rd0, %rd1;\n\
         activemask.b32 %r1;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 activemask.b32 %r2;\n@!%p0 activemask.b32 %r2;\n\
         st.global.v2.u32 [%rd0], {{%r1, %r2}};\nret;\n}}\n"
    );
    let mut buffers = [vec![0; 8 * 20]];
    run(&text, Shape::line(1, 20), &mut buffers, &[]).expect("it runs");
    for (lane, got) in words(&buffers[0]).chunks(2).enumerate() {
        assert_eq!(got, [0xf_ffff, if lane < 7 { 0x7f } else { 0xf_ff80 }], "lane {lane}");
    }
}

/// What a form of a barrier does: `sync`, `arrive`, `popc`, `and`, `or`.
fn parse_barrier(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("bar.").or_else(|| name.strip_prefix("barrier."))?;
    let rest = rest.strip_prefix("cta.").unwrap_or(rest);
    let rest = rest.strip_prefix("red.").unwrap_or(rest);
    rest.split('.').next().filter(|what| *what != "warp")
}

/// Threads 0 to 63 write to shared memory and arrive at barrier 3, where those from 64 on wait, read what is there, and add
/// what they learn. Thread numbers that divide by three hold.
fn handed_over(name: &str, what: &str) -> String {
    let (wait, learned) = match what {
        "sync" => (format!("{name} 3, 128;"), ""),
        "arrive" => ("bar.sync 3, 128;".to_string(), ""),
        "popc" => (format!("{name} %r4, 3, 128, %p1;"), ""),
        _ => (format!("{name} %p2, 3, 128, %p1;"), "selp.b32 %r4, 1, 0, %p2;\n"),
    };
    let hand = if what == "arrive" { format!("{name} 3, 128;") } else { wait.clone() };
    format!(
        "{HEADER}.visible .entry k(.param .u64 to)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n\
         .shared .b32 s[64];\nld.param.u64 %rd0, [to];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd1, %r0, 8;\n\
         add.s64 %rd0, %rd0, %rd1;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\nmov.u32 %r1, s;\nand.b32 %r2, %r0, 63;\nshl.b32 %r2, %r2, 2;\n\
         add.s32 %r1, %r1, %r2;\nrem.u32 %r3, %r0, 3;\nsetp.eq.s32 %p1, %r3, 0;\nsetp.ge.u32 %p0, %r0, 64;\n@%p0 bra READ;\n\
         st.shared.u32 [%r1], %r0;\n{hand}\nbra DONE;\nREAD:\n{wait}\nld.shared.u32 %r5, [%r1];\nDONE:\n{learned}\
         st.global.v2.u32 [%rd0], {{%r4, %r5}};\nret;\n}}\n"
    )
}

#[test]
fn threads_meet_at_a_barrier_with_a_number_and_learn_of_each_other() {
    let names: Vec<String> = table().into_iter().filter(|name| parse_barrier(name).is_some()).collect();
    assert_eq!(names.len(), 30, "{names:?}");
    for name in &names {
        let what = parse_barrier(name).expect("a barrier");
        let mut buffers = [vec![0; 8 * 128]];
        let text = handed_over(name, what);
        run(&text, Shape::line(1, 128), &mut buffers, &[]).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let learned = match what {
            "popc" => 43,
            "or" => 1,
            _ => 0,
        };
        for (thread, got) in longs(&buffers[0]).into_iter().enumerate() {
            let read = if thread < 64 { 0 } else { thread as u64 - 64 };
            assert_eq!(got, read << 32 | learned, "{name} in thread {thread}");
        }
    }
}
