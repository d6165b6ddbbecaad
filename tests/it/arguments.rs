//! What ops declare about their inputs and params is true, and no case is accepted that goes against it.

use std::collections::BTreeMap;

use snuffer::case::{Absent, Case, Kind, Param};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Op, accept, sequence};
use snuffer::tensor::Value;

/// The ops that have declarations of their own: the steps of a sequence have those of their ops.
fn declared() -> impl Iterator<Item = &'static Op> {
    ops::ALL.iter().copied().filter(|op| op.name != sequence::SEQUENCE.name)
}

fn drawn(op: &'static Op, mode: Mode, count: u64) -> impl Iterator<Item = Case> {
    (0..count).map(move |index| Sample::nth(&[op], &[mode], 7, index).drawn.case)
}

#[test]
fn every_drawn_case_is_accepted_as_it_is() {
    for op in ops::ALL {
        for mode in Mode::ALL {
            for case in drawn(op, mode, 200) {
                let (_, accepted) =
                    accept(case.clone()).unwrap_or_else(|problem| panic!("{problem}\n{}", case.to_text()));
                assert_eq!(accepted, case);
            }
        }
    }
}

#[test]
fn every_declared_input_param_and_word_is_drawn() {
    let mut missing = Vec::new();
    for op in declared() {
        let cases: Vec<Case> = drawn(op, Mode::Valid, 600).collect();
        for spec in op.inputs {
            let (with, without) = (
                cases.iter().any(|case| case.tensor(spec.name).is_some()),
                cases.iter().any(|case| case.tensor(spec.name).is_none()),
            );
            if !with || without != (spec.optional || spec.only.is_some()) {
                missing.push(format!("{}: input {} drawn {with}, left out {without}", op.name, spec.name));
            }
        }
        for spec in op.params {
            let given: Vec<&Param> = cases.iter().filter_map(|case| case.params.get(spec.name)).collect();
            if given.is_empty() || matches!(spec.absent, Absent::Error) && given.len() < cases.len() {
                missing.push(format!("{}: param {}", op.name, spec.name));
            }
            let Kind::Word(words) = spec.kind else { continue };
            let absent = given.len() < cases.len();
            let drawn =
                |word: &str| given.contains(&&Param::from(word)) || absent && spec.default() == Some(word.into());
            missing.extend(
                words.iter().filter(|word| !drawn(word)).map(|word| format!("{}: {} = {word:?}", op.name, spec.name)),
            );
        }
    }
    assert!(missing.is_empty(), "declared, but not drawn like that:\n{}", missing.join("\n"));
}

#[test]
fn a_completed_case_is_accepted_and_gives_all_that_has_a_default() {
    let mut completed = 0;
    for op in declared() {
        for case in drawn(op, Mode::Valid, 40) {
            let bare = Case { params: BTreeMap::new(), ..case };
            if op.check(&bare).is_err() {
                continue;
            }
            let complete = op.complete(&bare).into_owned();
            op.check(&complete).unwrap_or_else(|problem| panic!("{problem}\n{}", complete.to_text()));
            for spec in op.params.iter().filter(|spec| spec.default().is_some() && spec.only.is_none()) {
                assert_eq!(complete.params.get(spec.name), spec.default().as_ref(), "{} {}", op.name, spec.name);
            }
            assert_eq!(*op.complete(&complete), complete);
            completed += usize::from(complete != bare);
        }
    }
    assert!(completed > 1000, "only {completed} cases lacked something");
}

/// `case` with each mistake that a person makes: a name misspelled, a value of another type, something left out or added.
fn mistaken(op: &Op, case: &Case) -> Vec<(String, Case)> {
    let mut mistaken = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Case)| {
        let mut changed = case.clone();
        change(&mut changed);
        mistaken.push((what, changed));
    };
    for name in case.inputs.keys().cloned() {
        for typed in misspelled(&name) {
            add(format!("input {name} as {typed}"), &|case| {
                let tensor = case.inputs.remove(&name).expect("its input");
                case.inputs.insert(typed.clone(), tensor);
            });
        }
        if op.inputs.iter().any(|spec| spec.name == name && !spec.optional) {
            add(format!("without input {name}"), &|case| drop(case.inputs.remove(&name)));
        }
        add(format!("input {name} twice"), &|case| {
            case.inputs.insert(format!("{name}2"), case.inputs[&name].clone());
        });
    }
    for name in case.params.keys().cloned() {
        for typed in misspelled(&name) {
            add(format!("param {name} as {typed}"), &|case| {
                let param = case.params.remove(&name).expect("its param");
                case.params.insert(typed.clone(), param);
            });
        }
        for wrong in wrong(&op.params.iter().find(|spec| spec.name == name).expect("declared").kind) {
            add(format!("param {name} = {wrong}"), &|case| drop(case.params.insert(name.clone(), wrong.clone())));
        }
    }
    add("a step".to_string(), &|case| case.steps.push("tensor.exp".to_string()));
    mistaken
}

fn misspelled(name: &str) -> Vec<String> {
    let without_last = name[..name.len() - 1].to_string();
    let typed = [format!("{name}s"), without_last, name.to_uppercase(), format!("1.{name}"), format!(" {name}")];
    typed.into_iter().filter(|typed| !typed.is_empty() && typed != name).collect()
}

/// Values that are not of this type.
fn wrong(kind: &Kind) -> Vec<Param> {
    let (text, list) = (Param::from("big"), Param::List(vec![Param::List(Vec::new())]));
    match kind {
        Kind::Int(low, high) => {
            let beyond = [low.checked_sub(1), high.checked_add(1)].into_iter().flatten().map(Param::from);
            beyond.chain([text, list, Param::from(1.9), Param::from(f64::NAN)]).collect()
        }
        Kind::Size => {
            // Texts that no size is written as.
            let texts = ["usize::MAX - 9223372036854775808", "usize::MAX - 0", "usize::MAX-1", "usize::MAX + 1"]
                .map(Param::from);
            texts.into_iter().chain([text, list, Param::from(-1i64), Param::from(1.9), Param::from(f64::NAN)]).collect()
        }
        Kind::Flag => vec![text, list, Param::from(2i64), Param::from(0.5)],
        Kind::Float => vec![text, list],
        Kind::Word(_) | Kind::Dtype => vec![text, list, Param::from(1i64)],
        Kind::Text => vec![list, Param::from(1i64)],
        Kind::List(items) => wrong(items).into_iter().map(|item| Param::List(vec![item])).chain([text]).collect(),
    }
}

#[test]
fn no_mistake_in_a_case_is_accepted() {
    let (mut tried, mut accepted) = (0, Vec::new());
    for op in declared() {
        for case in drawn(op, Mode::Valid, 25) {
            for (what, mistaken) in mistaken(op, &case) {
                // A misspelled name may be that of another input that the op takes: this is another call, not a mistake.
                let names = |case: &Case| case.inputs.keys().chain(case.params.keys()).cloned().collect::<Vec<_>>();
                let own = |name: &String| {
                    op.inputs.iter().any(|spec| spec.name == name) || op.params.iter().any(|spec| spec.name == name)
                };
                let is_call =
                    mistaken.steps.is_empty() && names(&mistaken).iter().all(own) && names(&mistaken) != names(&case);
                tried += 1;
                match accept(mistaken) {
                    Ok(_) if is_call && !what.starts_with("without") => {}
                    Ok(_) => accepted.push(format!("{}: {what}", op.name)),
                    Err(problem) => assert!(problem.starts_with(op.name) && !problem.contains('\n'), "{problem}"),
                }
            }
        }
    }
    accepted.sort_unstable();
    accepted.dedup();
    assert!(accepted.is_empty(), "{} mistakes are accepted:\n{}", accepted.len(), accepted.join("\n"));
    assert!(tried > 10_000, "only {tried} mistakes");
}

#[test]
fn a_sequence_is_checked_step_by_step() {
    let problem = |text: &str| accept(Case::parse(text).expect("a case")).expect_err("a mistake");
    let x = "dtype = \"f32\"\nshape = [1]\nvalues.list = [1]\n";
    let of =
        |steps: &str, rest: &str| problem(&format!("op = \"sequence\"\nsteps = {steps}\n[inputs.\"1.x\"]\n{x}{rest}"));
    assert_eq!(
        of("[\"tensor.exp\", \"tensor.lgo\"]", ""),
        "step 2: there is no op `tensor.lgo`; did you mean `tensor.log`?"
    );
    assert_eq!(of("[\"tensor.exp\", \"sequence\"]", ""), "step 2: a sequence cannot be a step");
    assert_eq!(of("[]", ""), "sequence lacks `steps`, such as steps = [\"tensor.exp\", \"tensor.log\"]");
    let twice = format!("[inputs.\"2.x\"]\n{x}");
    assert_eq!(
        of("[\"tensor.exp\", \"tensor.log\"]", &twice),
        "step 2: tensor.log has all its inputs; leave out the one that is the output of the step before"
    );
    assert_eq!(
        of("[\"tensor.exp\", \"tensor.where_cond\"]", ""),
        "step 2: tensor.where_cond lacks the inputs `cond`, `on_true` and `on_false`; the output of the step before can be only \
         one of them"
    );
    assert_eq!(
        of("[\"tensor.exp\", \"create.zeros\"]", ""),
        "step 2: create.zeros takes no input that the output of the step before could be"
    );
    let stray = format!("[inputs.x]\n{x}");
    assert_eq!(of("[\"tensor.exp\"]", &stray), "sequence: `x` belongs to no step; the first step has `1.x`");
}

#[test]
fn numbers_are_accepted_however_they_are_written() {
    let text =
        "op = \"tensor.elu\"\nparams.alpha = 2\n[inputs.x]\ndtype = \"f32\"\nshape = [2]\nvalues.list = [1, 0.5]\n";
    let (_, case) = accept(Case::parse(text).expect("a case")).expect("a call");
    assert_eq!(case.params["alpha"], Param::from(2.0));
    assert_eq!(case.inputs["x"].values.to_vec(2), [Value::Float(1.0), Value::Float(0.5)]);
    let text =
        "op = \"tensor.narrow\"\n[params]\nlen = 1.0\n[inputs.x]\ndtype = \"u32\"\nshape = [1]\nvalues.list = [10.0]\n";
    let (_, case) = accept(Case::parse(text).expect("a case")).expect("a call");
    assert_eq!((&case.params["len"], case.inputs["x"].ints()), (&Param::from(1i64), vec![10]));
    let abs_of = |dtype: &str, value: &str| {
        let text =
            format!("op = \"tensor.abs\"\n[inputs.x]\ndtype = \"{dtype}\"\nshape = [1]\nvalues.list = [{value}]\n");
        Case::parse(&text)
    };
    for (dtype, value, element) in [
        ("f32", "0.1", 0.100_000_001_490_116_12),
        ("f32", "1e-40", f64::from(1e-40_f32)),
        ("f32", "16777217", 16_777_216.0),
        ("f32", "3.4028235e38", f64::from(f32::MAX)),
        ("f16", "0.05", 0.049_987_792_968_75),
        ("bf16", "0.05", 0.050_048_828_125),
        ("f16", "65519.0", 65_504.0),
        ("f8e4m3", "0.1", 0.101_562_5),
        ("f8e4m3", "463.0", 448.0),
        ("f64", "0.1", 0.1),
    ] {
        let case = abs_of(dtype, value).unwrap_or_else(|problem| panic!("{dtype}: {problem}"));
        assert_eq!(case.inputs["x"].values.to_vec(1), [Value::Float(element)], "{dtype} {value}");
    }
    for (dtype, value, nearest) in [
        ("u32", "10.5", "10"),
        ("u8", "-1", "0"),
        ("f16", "1e9", "inf"),
        ("f16", "65520.0", "inf"),
        ("f32", "3.5e38", "inf"),
        ("f8e4m3", "464.0", "448"),
        ("f8e4m3", "inf", "448"),
    ] {
        let problem = abs_of(dtype, value).expect_err("cannot be held").to_string();
        assert!(problem.contains(&format!("{dtype} cannot hold; the nearest is {nearest}")), "{problem}");
    }
}
