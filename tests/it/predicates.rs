//! The predicates of causes: each condition tells failures apart, and mistakes are clear.

use snuffer::causes::{RootCause, Sighting};
use snuffer::store::regression::Regression;

use crate::kept::regressions;

/// All of a cause but what shows it.
const CAUSE: &str =
    "title = 'a'\nrank = 'wrong'\ntheme = 'c'\nsymptom = 'panic'\nhit = 'rare'\nat = []\nexplanation = 'b'\n";

/// Its theme.
const THEME: &str = "[c]\ntitle = 'd'\ndecision = 'e'\n";

/// The cause that `shown_by` describes.
fn cause(shown_by: &str) -> Result<RootCause, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("{CAUSE}{shown_by}\n");
    std::fs::write(folder.path().join("themes.toml"), THEME).expect("written");
    std::fs::create_dir(folder.path().join("a")).expect("made");
    std::fs::write(folder.path().join("a/cause.toml"), text).expect("written");
    let problem = |problem: String| problem.replace(&format!("{}/", folder.path().display()), "");
    Ok(RootCause::read(folder.path()).map_err(problem)?.remove(0))
}

/// A condition, a regression for which it holds, and edits that make it another failure of a like name, for which it does not.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const ROWS: [Row; 15] = [
    // Another device has another kernel.
    ("device = 'cpu'", "tensor.sum/low-precision-partial-sums-rounded", &[("device = \"cpu\"", "device = \"cuda\"")]),
    // A loss that overflows does not stall.
    ("wrong = ['grossly', 'rounding']", "loss.mse/half-precision-mean-stalls", &[("rows", "rows, that is not finite")]),
    ("wrong = ['not-finite']", "tensor.cumsum/nan-spreads-to-earlier-sums", &[(", that is not finite", "")]),
    // The view is of another input, or another view.
    ("inputs.kernel.view = 'any'", "tensor.conv1d/strided-kernel-wrong-values", &[("kernel.view", "x.view")]),
    ("inputs.x.view = 'order'", TRANSPOSED_BATCH, &[("order = [0, 2, 1]", "broadcast = [0]")]),
    ("inputs.rhs.view = 'broadcast'", TRANSPOSED_BATCH, &[("broadcast = [0]", "order = [0, 2, 1]")]),
    ("inputs.x.view = 'none'", "tensor.conv_transpose1d/batch-wrong-values-on-cpu", &[STEPS]),
    // An id that is not the largest of its dtype.
    ("inputs.ids.holds = 'largest'", "tensor.index_select/u8-id-255-reads-zeros", &[("[255]", "[0]")]),
    // NaN is no tie.
    ("inputs.x.lacks = 'non-finite'", "tensor.argmax/ties-not-first-on-cuda", &[("1.875]", "nan]")]),
    ("inputs.x.holds = 'non-finite'", "tensor.cumsum/nan-spreads-to-earlier-sums", &[("nan]", "1.0]")]),
    // A scalar is not truncated to a float.
    ("inputs.x.dtypes = ['integers']", "tensor.add_scalar/negative-scalar-ignored-for-u32", &[("u32", "f32")]),
    ("inputs.'*'.dtypes = ['i16', 'i32']", "tensor.sum/i16-only-on-cpu", &[("i16", "f8e4m3")]),
    // The same panic elsewhere.
    ("at = 'bin_op!(Div)'", "tensor.div/integer-division-by-zero-panics", &[("bin_op!(Div)", "f")]),
    // Another number of channels, which the groups divide no more either, and a count that is exact in f32.
    (
        "when = 'kernel.shape[0] >= groups'",
        "tensor.conv1d/indivisible-groups-drop-channels",
        &[("[3, 1, 1]", "[1, 1, 1]")],
    ),
    ("when = 'count >= 16777216'", "tensor.unfold_shape/huge-input-one-window-too-many", &[("33554432", "7")]),
];

const TRANSPOSED_BATCH: &str = "tensor.matmul/transposed-batch-times-broadcast-wrong-values";
const STEPS: (&str, &str) = ("[case.inputs.x]\n", "[case.inputs.x]\nview = { step = [1, 2, 1] }\n");

#[test]
fn a_condition_tells_apart_what_a_pattern_of_names_does_not() {
    let kept = regressions();
    for (condition, name, edits) in ROWS {
        let (_, shown) = kept.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("no {name}"));
        let mut text = shown.to_text();
        for (from, to) in edits {
            assert!(text.contains(from), "{condition}: {from} is not in\n{text}");
            text = text.replace(from, to);
        }
        let other: Regression = toml::from_str(&text).unwrap_or_else(|error| panic!("{condition}: {error}\n{text}"));
        let sightings = [shown, &other].map(|one| Sighting::kept(one).expect("it fails"));
        let holds = |condition: &str| {
            let cause =
                cause(&format!("shown_by = [{{ name = '{}--*'{condition} }}]", shown.case.op)).expect(condition);
            cause.check().expect(condition);
            sightings.clone().map(|one| cause.is_shown_by(&one))
        };
        assert_eq!(holds(""), [true, true], "{condition}");
        assert_eq!(holds(&format!(", {condition}")), [true, false], "{condition}");
    }
}

#[test]
fn a_mistake_in_a_cause_is_one_line_that_says_what_is_wrong() {
    let rows = [
        (
            "shown_by = [{ name = '*', dtype = 'f32' }]",
            "a/cause.toml: line 8: unknown field `dtype`, expected one of `name`, `device`,",
        ),
        ("shown_by = [{ device = 'cpu' }]", "missing field `name`"),
        ("shown_by = [{ name = '[' }]", "`[` is not a pattern"),
        ("shown_by = [{ name = '*', device = 'tpu' }]", "unknown variant `tpu`, expected one of `cpu`, `cuda`,"),
        ("shown_by = [{ name = '*', wrong = ['NaN'] }]", "unknown variant `NaN`, expected one of `grossly`,"),
        ("shown_by = [{ name = '*', inputs.x.dtypes = ['f33'] }]", "`f33` is not a dtype; use one such as `f32`,"),
        ("shown_by = [{ name = '*', inputs.x.view = 'strided' }]", "unknown variant `strided`, expected one of `any`,"),
        ("shown_by = [{ name = '*', inputs.x.holds = '7' }]", "unknown variant `7`, expected one of `zero`,"),
        ("shown_by = [{ name = '*', when = 'x.rank >' }]", "`x.rank >` is not an expression: "),
        (
            "shown_by = []\nupstream = [{ url = '#1', kind = 'report', title = 'c' }]",
            "a/cause.toml: `#1` is not a link; it is like https://github.com/OWNER/NAME/issues/1",
        ),
        ("shown_by = []\nupstream = [{ url = '', kind = 'pr', title = 'c' }]", "unknown variant `pr`, expected one of"),
    ];
    for (rest, expected) in rows {
        let problem = cause(rest).expect_err(rest);
        assert!(problem.contains(expected) && !problem.contains('\n'), "{rest}: {problem}");
    }
}

#[test]
fn a_predicate_may_only_speak_of_what_the_op_has() {
    let rows = [
        ("when = 'kernel.rank > 1'", "a: `when`: `tensor.roll` has no input or param `kernel`"),
        ("inputs.kernel.view = 'any'", "a: `inputs.kernel`: `tensor.roll` has no such input"),
    ];
    for (condition, expected) in rows {
        let cause = cause(&format!("shown_by = [{{ name = 'tensor.roll--*', {condition} }}]")).expect(condition);
        assert_eq!(cause.check().expect_err(condition), expected);
    }
}
