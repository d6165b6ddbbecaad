//! `snuffer ops --format markdown`: what every op declares.

use snuffer::ops;

use crate::json::snuffer;

#[test]
fn the_table_of_ops_has_a_row_with_each_input_and_param_of_each_op() {
    let text = snuffer(&["ops", "--format", "markdown"]);
    // The canary and sequences declare nothing, and have no family.
    let of_families: Vec<_> = ops::ALL.iter().filter(|op| op.name.contains('.')).collect();
    assert!(of_families.len() > 200);
    for op in of_families {
        let start = format!("| `{}` |", op.name);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with(&start)).collect();
        let [row] = rows[..] else { panic!("{} has {} rows", op.name, rows.len()) };
        let inputs = op.inputs.iter().map(|spec| format!("`{}` {}", spec.name, spec.taken()));
        let params = op.params.iter().map(|spec| format!("`{}` {}: {}", spec.name, spec.taken(), spec.about));
        for said in inputs.chain(params) {
            assert!(row.contains(&said), "{said} is not in {row}");
        }
    }
}
