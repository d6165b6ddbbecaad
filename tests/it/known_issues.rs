//! The list of known issues: its predicates tell bugs apart, each known cause has a regression, and mistakes are clear.

use globset::Glob;
use snuffer::causes::{KnownIssue, Predicate, Sighting};
use snuffer::store::regression::Regression;

use crate::kept::regressions;

#[test]
fn every_known_cause_has_a_regression_unless_the_list_says_why_none_can() {
    let kept = regressions();
    let kept: Vec<Sighting> = kept.iter().filter_map(|(_, one)| Sighting::kept(one)).collect();
    let unguarded = KnownIssue::own().iter().filter(|issue| issue.unseen.is_none()).flat_map(|issue| {
        let is_shown = |predicate: &&Predicate| {
            kept.iter().any(|one| predicate.holds(one).unwrap_or_else(|problem| panic!("{}: {problem}", issue.id)))
        };
        issue.shown_by.iter().filter(move |one| !is_shown(one)).map(|one| format!("{}: {}", issue.id, one.name))
    });
    let unguarded: Vec<String> = unguarded.collect();
    assert!(unguarded.is_empty(), "no regression shows\n{}", unguarded.join("\n"));
}

/// An issue, a pattern that fits the names of two failures, a regression that shows the issue, and a failure that does not: a
/// regression with these edits.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const ON_CUDA: (&str, &str) = ("device = \"cpu\"", "device = \"cuda\"");

const PAIRS: [Row; 22] = [
    // Another device has another kernel.
    ("B06", "tensor.sum--reference--*", "tensor.sum/low-precision-partial-sums-rounded", SAME, &[ON_CUDA]),
    ("B18", "tensor.matmul--reference--*in-a-view*", TRANSPOSED_BATCH, SAME, &[ON_CUDA]),
    // A loss that overflows does not stall.
    ("B08", "loss.mse--*", "loss.mse/half-precision-mean-stalls", SAME, &[("rows", "rows, that is not finite")]),
    // The view is of another input.
    (
        "B20",
        "tensor.conv1d--*in-a-view*",
        "tensor.conv1d/strided-kernel-wrong-values",
        SAME,
        &[("kernel.view", "x.view")],
    ),
    (
        "B18",
        "tensor.matmul--reference--*in-a-view*",
        TRANSPOSED_BATCH,
        SAME,
        &[("order = [0, 2, 1]", "broadcast = [0]")],
    ),
    // An id that is not the largest of its dtype.
    (
        "B36",
        "tensor.index_select--reference--*",
        "tensor.index_select/u8-id-255-reads-zeros",
        SAME,
        &[("[255]", "[0]")],
    ),
    ("CL06", "loss.nll--contract--*", "loss.nll/max-label-accepted", SAME, &[("4294967295", "1")]),
    // Another number of channels that the groups do not divide.
    ("CC04", GROUPS, "tensor.conv1d/indivisible-groups-drop-channels", SAME, &[("[3, 1, 1]", "[2, 1, 1]")]),
    (
        "CC05",
        GROUPS,
        "tensor.conv1d/indivisible-groups-return-empty-output",
        "tensor.conv1d/indivisible-groups-drop-channels",
        &[],
    ),
    // A tensor without elements, whatever fills it.
    ("CZ08", "random.init--contract--refused-valid--*", KAIMING, "random.init/empty-shape-refused-on-cuda", &[]),
    // A small count is exact in f32.
    (
        "CI22",
        "tensor.unfold_shape--*",
        "tensor.unfold_shape/huge-input-one-window-too-many",
        SAME,
        &[("33554432", "7")],
    ),
    // NaN is no tie.
    ("CR01", "tensor.argmax--reference--*", "tensor.argmax/ties-not-first-on-cuda", SAME, &[("1.875]", "nan]")]),
    // A sum of numbers.
    ("CR08", "tensor.cumsum--reference--*", "tensor.cumsum/nan-spreads-to-earlier-sums", SAME, &[("nan]", "1.0]")]),
    // A scalar is not truncated to a float.
    (
        "CR12",
        "tensor.add_scalar--reference--*",
        "tensor.add_scalar/negative-scalar-ignored-for-u32",
        SAME,
        &[("u32", "f32")],
    ),
    // The same panic elsewhere.
    (
        "CR14",
        "tensor.div--contract--panic--*",
        "tensor.div/integer-division-by-zero-panics",
        SAME,
        &[("bin_op!(Div)", "f")],
    ),
    // Other dtypes without a kernel.
    ("CU05", "tensor.*--agreement--*", "tensor.sum/i16-only-on-cpu", SAME, &[("i16", "f8e4m3")]),
    ("CU07", "tensor.*--agreement--*", "tensor.max_pool2d/i64-only-on-cpu", SAME, &[("i64", "f8e4m3")]),
    ("CU08", "tensor.*--agreement--*", "tensor.conv2d/bf16-only-on-cuda", SAME, &[("bf16", "f8e4m3")]),
    // Another result of the cache.
    (
        "CN21",
        "cache.rotating*--*",
        "cache.rotating_kept/later-append-overwrites-result",
        SAME,
        &[("_kept", "_positions")],
    ),
    // A view of the input goes another way.
    (
        "CC08",
        "tensor.conv_transpose1d--reference--*",
        "tensor.conv_transpose1d/batch-wrong-values-on-cpu",
        SAME,
        &[STEPS],
    ),
    // A view of another rank is refused for another reason.
    (
        "CO05",
        "layer.linear--contract--refused-valid--in-a-view",
        "layer.linear/permuted-batch-dims-refused",
        SAME,
        &[("order = [0, 2, 1, 3]", "broadcast = [0]")],
    ),
    // Integers are not divided in f32.
    (
        "CC17",
        "tensor.avg_pool2d--reference--*",
        "tensor.avg_pool2d/f64-averaged-in-f32",
        SAME,
        &[("dtype = \"f64\"", "dtype = \"u32\"")],
    ),
];

/// The regression that shows the issue, edited.
const SAME: &str = "";
const TRANSPOSED_BATCH: &str = "tensor.matmul/transposed-batch-times-broadcast-wrong-values";
const GROUPS: &str = "tensor.conv1d--contract--invalid-not-refused--groups*";
const KAIMING: &str = "random.init/kaiming-normal-of-nothing-refused";
const STEPS: (&str, &str) = ("[case.inputs.x]\n", "[case.inputs.x]\nview = { step = [1, 2, 1] }\n");

#[test]
fn predicates_tell_apart_what_a_pattern_of_names_does_not() {
    let kept = regressions();
    let find = |name: &str| &kept.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name}")).1;
    for (id, glob, shown, other, edits) in PAIRS {
        let shown = find(shown);
        let mut text = if other == SAME { shown } else { find(other) }.to_text();
        for (from, to) in edits {
            assert!(text.contains(from), "{id}: {from} is not in\n{text}");
            text = text.replace(from, to);
        }
        let other: Regression = toml::from_str(&text).unwrap_or_else(|error| panic!("{id}: {error}\n{text}"));
        let [shown, other] = [shown, &other].map(|one| Sighting::kept(one).expect("it fails"));
        let glob = Glob::new(glob).expect("a pattern").compile_matcher();
        for sighting in [&shown, &other] {
            assert!(glob.is_match(sighting.signature.slug()), "{id}: {}", sighting.signature.slug());
        }
        let issue = KnownIssue::own().iter().find(|issue| issue.id == id).expect(id);
        let is_shown = [shown, other].map(|one| issue.is_shown_by(&one).expect("the names are of the op"));
        assert_eq!(is_shown, [true, false], "{id}: {}", issue.title);
    }
}

#[test]
fn a_mistake_in_a_list_is_one_line_that_says_what_is_wrong() {
    let rows = [
        ("", "say in `shown_by` which findings show it, or in `unseen` why none can"),
        (
            "shown_by = [{ name = '*', dtype = 'f32' }]",
            "line 4: unknown field `dtype`, expected one of `name`, `device`,",
        ),
        ("shown_by = [{ device = 'cpu' }]", "missing field `name`"),
        ("shown_by = [{ name = '[' }]", "`[` is not a pattern"),
        ("shown_by = [{ name = '*', device = 'tpu' }]", "unknown variant `tpu`, expected one of `cpu`, `cuda`,"),
        ("shown_by = [{ name = '*', wrong = ['NaN'] }]", "unknown variant `NaN`, expected one of `grossly`,"),
        ("shown_by = [{ name = '*', inputs.x.dtypes = ['f33'] }]", "`f33` is no dtype; use one such as `f32`,"),
        ("shown_by = [{ name = '*', inputs.x.view = 'strided' }]", "unknown variant `strided`, expected one of `any`,"),
        ("shown_by = [{ name = '*', inputs.x.holds = '7' }]", "unknown variant `7`, expected one of `zero`,"),
        ("shown_by = [{ name = '*', when = 'x.rank >' }]", "`x.rank >` is not an expression: "),
        ("unseen = 'a'\n[[issue]]\nid = 'A'\ntitle = 'B'\nunseen = 'c'", "A: two issues have this id"),
    ];
    for (rest, expected) in rows {
        let problem = KnownIssue::read(&format!("[[issue]]\nid = 'A'\ntitle = 'B'\n{rest}\n")).expect_err(rest);
        assert!(problem.contains(expected) && !problem.contains('\n'), "{rest}: {problem}");
    }
}

#[test]
fn a_predicate_may_only_speak_of_what_the_op_has() {
    let kept = regressions();
    let (_, roll) = kept.iter().find(|(_, one)| one.case.op == "tensor.roll").expect("kept");
    let rows = [
        ("when = 'kernel.rank > 1'", "A: `when`: `tensor.roll` has no input or param `kernel`"),
        ("inputs.kernel.view = 'any'", "A: `inputs.kernel`: `tensor.roll` has no such input"),
    ];
    for (condition, expected) in rows {
        let list = format!("[[issue]]\nid = 'A'\ntitle = 'B'\nshown_by = [{{ name = 'tensor.roll*', {condition} }}]\n");
        let list = KnownIssue::read(&list).expect("a list");
        let problem = list[0].is_shown_by(&Sighting::kept(roll).expect("it fails")).expect_err(condition);
        assert_eq!(problem, expected);
    }
}
