//! Comparisons of two candles: what differs in their sources, the order of cases, and reports.

use std::collections::BTreeSet;

use snuffer::candles::{Crate, Crates, Sources, crates, released};
use snuffer::compare::{FAR, Order, Reach, reaches};
use snuffer::device::Device;
use snuffer::exec::WorkerSpec;
use snuffer::ops::{self, Op};
use snuffer::oracle::Class;
use snuffer::report::{Comparison, Difference};

use crate::output::{code, text};

/// The sources of the release under test with `new` for `old` in a file of a crate.
fn edited(name: &str, file: &str, old: &str, new: &str) -> [Sources; 2] {
    let base = Crates { version: snuffer::CANDLE.into(), ..Crates::default() };
    let mut own = Crate::read(&released(name).expect("fetched")).expect("readable");
    let text = String::from_utf8(own.files[file].clone()).expect("text");
    assert!(text.contains(old), "{file} has no `{old}`");
    own.files.insert(file.into(), text.replacen(old, new, 1).into_bytes());
    let head = Crates {
        root: Some("/x".into()),
        own: [(name.to_string(), own)].into(),
        version: snuffer::CANDLE.into(),
        ..Crates::default()
    };
    [base, head].map(|crates| Sources::of(&crates, false).expect("readable"))
}

#[test]
fn changed_functions_are_named_and_the_ops_that_may_call_them_come_first() {
    let old = "let src_idx = start_src_idx + index * src_right_len + right_i;";
    let new = "let src_idx = start_src_idx + index + right_i;";
    let [base, head] = edited("candle-core", "src/cpu_backend/mod.rs", old, new);
    let changed = head.changed_since(&base);
    let file = "candle-core/src/cpu_backend/mod.rs".to_string();
    assert_eq!(changed.files, BTreeSet::from([file.clone()]));
    assert_eq!(changed.functions, BTreeSet::from([(file, "Gather::f".to_string())]));
    let all: Vec<&'static Op> = ops::ALL.to_vec();
    let reaches = reaches(&all, &head, &changed, &[Device::Cpu], &WorkerSpec::default(), 1).expect("no device");
    assert_eq!(reaches.len(), all.len(), "no op is left out");
    assert_eq!(reaches["tensor.gather"].change.as_deref(), Some("Gather::f in candle-core/src/cpu_backend/mod.rs"));
    let nearest: Vec<&str> = reaches.iter().filter(|(_, reach)| reach.distance <= 1).map(|(name, _)| *name).collect();
    assert!(nearest.contains(&"tensor.gather") && nearest.len() < all.len() / 4, "{nearest:?}");
    assert!(reaches["loss.mse"].distance > 1, "it gathers nothing");
    let order = Order::new(&all, &reaches);
    assert!(nearest.contains(&order.sample(1, 0).op.name), "{}", order.sample(1, 0).op.name);
}

#[test]
fn comments_and_other_processors_change_nothing() {
    let [base, head] = edited("candle-core", "src/cpu/neon.rs", "use ", "use  ");
    let changed = head.changed_since(&base);
    assert!(changed.files.is_empty() && changed.others.contains("candle-core/src/cpu/neon.rs"), "{changed:?}");
    let [base, head] = edited("candle-nn", "src/loss.rs", "    inp.gather", "    // A comment.\n    inp.gather");
    let changed = head.changed_since(&base);
    assert!(changed.functions.is_empty() && changed.files.len() == 1, "{changed:?}");
    assert!(crates(snuffer::CANDLE).expect("a release").is_release_under_test());
}

#[test]
fn a_turn_has_each_op_and_no_case_twice() {
    let ops: Vec<&'static Op> =
        ["tensor.neg", "tensor.gather", "loss.mse"].map(|name| ops::find(name).expect("an op")).into();
    let far = [("tensor.neg", FAR), ("tensor.gather", 0), ("loss.mse", FAR - 1)];
    let far = far.map(|(name, distance)| (name, Reach { distance, change: None })).into();
    let order = Order::new(&ops, &far);
    let turn = (1 << FAR) + 2 + 1;
    let drawn: Vec<(&str, u64)> =
        (0..3 * turn).map(|index| order.sample(1, index)).map(|it| (it.op.name, it.number)).collect();
    let unique: BTreeSet<_> = drawn.iter().collect();
    assert_eq!(unique.len(), drawn.len());
    assert_eq!(drawn[..2], [("tensor.gather", 0), ("tensor.gather", 1)]);
    for (name, each) in [("tensor.neg", 1), ("loss.mse", 2), ("tensor.gather", 1 << FAR)] {
        let numbers: BTreeSet<u64> = drawn.iter().filter(|(op, _)| *op == name).map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..3 * each).collect(), "{name}");
    }
}

fn difference(class: Class, what: &str) -> Difference {
    Difference {
        class,
        what: what.into(),
        due_to: None,
        op: "tensor.log".into(),
        rank: None,
        signature: None,
        device: "cpu".into(),
        detail: "element 0: 1 before, 2 after".into(),
        before: "Ok: <1>".into(),
        after: "panic at candle-core/src/op.rs:7: a|b".into(),
        case: "op = \"tensor.log\"\n".into(),
        file: "findings/x.toml".into(),
        replay: ["snuffer replay findings/x.toml", "snuffer replay findings/x.toml --candle new"].map(String::from),
        minimal: true,
        after_cases: 17,
    }
}

#[test]
fn reports_say_what_happens_and_how_to_run_it() {
    let [worse, better] =
        [(Class::Changed, "a < b"), (Class::NewlyPassing, "no more: c")].map(|(class, what)| difference(class, what));
    let of = |differences| Comparison {
        differences,
        base: "candle 1".into(),
        head: "candle 2".into(),
        ..Comparison::default()
    };
    let both = of(vec![worse, better]);
    let plain = both.text();
    assert!(plain.contains("changed         a < b\n") && plain.contains("1 changed, 1 newly passing\n"), "{plain}");
    assert!(
        plain.starts_with("tensor.log\nchanged ") && plain.contains("and 1 more difference, of tensor.log\n"),
        "{plain}"
    );
    assert!(plain.contains("on cpu, after 17 cases: element 0: 1 before, 2 after\n"), "{plain}");
    assert!(plain.contains("replay: snuffer replay findings/x.toml\n"), "{plain}");
    let markdown = both.markdown();
    for part in [
        "## candle 2 against candle 1",
        "| tensor.log | changed | a < b | cpu | 17 cases | 1 |",
        "a\\|b",
        "snuffer replay case.toml --candle new",
    ] {
        assert!(markdown.contains(part), "no `{part}` in {markdown}");
    }
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
    let sarif = both.sarif();
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!((results.len(), &results[0]["ruleId"]), (1, &"changed".into()), "what is better is no alert");
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"candle-core/src/op.rs".into(), &7.into())
    );
    assert!(both.needs_a_look() && !of(vec![difference(Class::NewlyPassing, "x")]).needs_a_look());
}

#[test]
fn a_candle_is_no_different_from_itself() {
    let store = tempfile::tempdir().expect("a folder");
    let compared = crate::cli::snuffer(store.path(), &["compare", snuffer::CANDLE, snuffer::CANDLE]);
    assert_eq!(
        (code(&compared), text(&compared.stdout)),
        (0, "no difference\nthe sources of both are the same\n".into())
    );
    let unknown = crate::cli::snuffer(store.path(), &["compare", snuffer::CANDLE, "nowhere"]);
    assert_eq!(code(&unknown), 1, "{}", text(&unknown.stderr));
}
