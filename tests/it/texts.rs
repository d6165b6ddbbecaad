//! Texts of cases and stores where they are printed, and how much work a case is: what a terminal, Markdown or time must be kept from.

use snuffer::case::Case;
use snuffer::console::{harmless, short_and_harmless};
use snuffer::investigate::takes_long;
use snuffer::ops;
use snuffer::report::{fenced, inline};
use snuffer::tensor::{DType, Fill, Tensor, Value, Values, View};

#[test]
fn what_a_terminal_obeys_is_shown_as_escapes() {
    console::set_colors_enabled(false);
    assert_eq!(
        harmless("\u{1b}]0;title\u{7}\u{1b}[2J\r\u{9b}\u{202e}"),
        r"\u001b]0;title\u0007\u001b[2J\u000d\u009b\u202e"
    );
    assert_eq!(harmless("two\nlines\tand a tab, ünïcode"), "two\nlines\tand a tab, ünïcode");
}

#[test]
fn no_line_is_a_command_of_a_ci_runner() {
    assert_eq!(harmless("a\n  ::add-mask::b\nc::d"), "a\n  \\u003a:add-mask::b\nc::d");
    assert_eq!(harmless("a ##[error]b"), "a \\u0023#[error]b");
}

#[test]
fn a_long_line_of_an_error_is_cut() {
    let long = "ä".repeat(10 * 2000);
    let shown = short_and_harmless(&format!("first\n{long}\nlast"));
    assert_eq!(shown, format!("first\n{}…\nlast", "ä".repeat(2000)));
    let escaped = short_and_harmless(&"\0".repeat(2000));
    assert!(escaped.chars().count() <= 2001 && escaped.starts_with("\\u0000"), "{escaped}");
}

#[test]
fn a_text_stays_in_its_line_and_its_cell() {
    assert_eq!(inline("a|b\n| c | d |\r\n# e"), "a\\|b \\| c \\| d \\|  # e");
    assert_eq!(inline("<img src=x> </td><!-- 1 < 2 a<1"), "&lt;img src=x> &lt;/td>&lt;!-- 1 < 2 a<1");
}

#[test]
fn code_does_not_end_its_block() {
    assert_eq!(fenced("toml", "a = 1\n"), "```toml\na = 1\n```\n");
    assert_eq!(fenced("", "a\n```\n# b"), "````\na\n```\n# b\n````\n");
}

/// Whether a call with inputs of these shapes takes long.
fn call(op: &str, inputs: &[(&str, &[usize])]) -> bool {
    let zeros = || Values::Fill(Fill::constant(Value::Float(0.0)));
    let tensor =
        |shape: &[usize]| Tensor { dtype: DType::F32, shape: shape.to_vec(), view: View::default(), values: zeros() };
    let case = inputs.iter().fold(Case::new(op), |case, (name, shape)| case.input(name, tensor(shape)));
    takes_long(ops::find(op).expect("an op"), &case)
}

#[test]
fn a_product_of_matrices_of_257_is_tried_and_a_convolution_with_a_kernel_of_33_is_not() {
    assert!(!call("tensor.matmul", &[("x", &[257, 257]), ("rhs", &[257, 257])]));
    assert!(!call("tensor.exp", &[("x", &[2, 33, 257, 7])]));
    assert!(call("tensor.conv_transpose2d", &[("x", &[33; 4]), ("kernel", &[33; 4])]));
}
