//! Mutated kernels: real changes are noticed, equivalent ones are not, and a seed always gives the same result.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use snuffer::device::Device;
use snuffer::exec::WorkerSpec;
use snuffer::ops;
use snuffer::score::{Baseline, Change, Chosen, Difference, Fate, Mutant, Plan, Subject, choose, run};

use crate::json::valid;
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: mutants_are_spread_over_kernels_and_kinds_without_equivalent_ones;
    Simulated: a_store_out_of_bounds_is_noticed_unless_no_case_executes_it,
    swapped_operands_of_a_subtraction_are_a_wrong_value,
    an_equivalent_change_changes_no_bit,
    a_seed_gives_the_same_mutants_with_the_same_fates,
    a_score_is_printed_as_text_and_as_valid_json
];

/// Twenty cases of one op.
fn plan(sim: Device) -> Plan {
    Plan {
        subject: Subject::Kernels,
        ops: vec![ops::find("tensor.sub").expect("an op")],
        devices: vec![Device::Cpu, sim],
        seed: 1,
        cases: 20,
        mutants: 12,
        jobs: 2,
        spec: WorkerSpec::default(),
    }
}

fn observe(plan: &Plan) -> Baseline {
    Baseline::observe(plan, &AtomicBool::new(false), &|_| {}).expect("the harness survives")
}

fn fates(plan: &Plan, baseline: &Baseline, chosen: &[Chosen]) -> Vec<Mutant> {
    run(plan, baseline, chosen, &AtomicBool::new(false), &|_| {}).expect("the harness survives")
}

/// The changes of the subtraction kernel that pass `filter`.
fn changes_of_subtraction(baseline: &Baseline, filter: impl Fn(&Change) -> bool) -> Vec<Chosen> {
    let changes = baseline.changes["bsub_f32"].iter().enumerate();
    let chosen = changes.filter(|(_, change)| filter(change));
    chosen.map(|(number, _)| Chosen { of: "bsub_f32".to_string(), number }).collect()
}

fn a_store_out_of_bounds_is_noticed_unless_no_case_executes_it(sim: Device) {
    let plan = plan(sim);
    let baseline = observe(&plan);
    let mutants = fates(
        &plan,
        &baseline,
        &changes_of_subtraction(&baseline, |change| change.what == "a store goes one element too far"),
    );
    let is = |fate: &Fate| mutants.iter().filter(|mutant| mutant.fate == *fate).count();
    let faulted = mutants.iter().filter(|mutant| match &mutant.fate {
        Fate::Noticed(noticed) => (noticed.oracle.name(), noticed.kind.name()) == ("fault", "illegal address"),
        Fate::NotStarted | Fate::Survived(_) => false,
    });
    assert!(faulted.count() > 0, "{mutants:#?}");
    // The loop is unrolled, and a copy of the store needs a grid that iterates more than once.
    assert!(is(&Fate::Survived(Difference::NotReached)) > 0, "{mutants:#?}");
}

fn swapped_operands_of_a_subtraction_are_a_wrong_value(sim: Device) {
    let plan = plan(sim);
    let baseline = observe(&plan);
    let swapped =
        changes_of_subtraction(&baseline, |change| change.what == "operands are swapped" && !change.equivalent);
    let mutants = fates(&plan, &baseline, &swapped);
    let wrong = mutants.iter().filter(|mutant| match &mutant.fate {
        Fate::Noticed(noticed) => (noticed.oracle.name(), noticed.kind.name()) == ("reference", "wrong value"),
        Fate::NotStarted | Fate::Survived(_) => false,
    });
    assert!(wrong.count() > 0, "{mutants:#?}");
}

fn an_equivalent_change_changes_no_bit(sim: Device) {
    let plan = plan(sim);
    let baseline = observe(&plan);
    let equivalent = changes_of_subtraction(&baseline, |change| change.equivalent);
    assert!(equivalent.len() > 10, "{equivalent:?}");
    for mutant in fates(&plan, &baseline, &equivalent[..10]) {
        let unseen = [Difference::NotReached, Difference::NoEffect, Difference::FailsAnyway, Difference::NoneSeen]
            .map(Fate::Survived);
        assert!(unseen.contains(&mutant.fate), "{mutant:?}");
    }
}

fn a_seed_gives_the_same_mutants_with_the_same_fates(sim: Device) {
    let plan = plan(sim);
    let [one, other] = [(); 2].map(|()| {
        let baseline = observe(&plan);
        let chosen = choose(&baseline.changes, plan.mutants, plan.seed);
        let mutants = fates(&plan, &baseline, &chosen);
        mutants.into_iter().map(|mutant| Mutant { seconds: 0.0, ..mutant }).collect::<Vec<_>>()
    });
    assert_eq!(one.len(), plan.mutants);
    assert_eq!(one, other);
}

fn mutants_are_spread_over_kernels_and_kinds_without_equivalent_ones() {
    let change = |what: &str, equivalent| Change {
        what: what.to_string(),
        place: String::new(),
        mark: 0,
        effect: None,
        code: None,
        equivalent,
        further_round: false,
    };
    let mut of = vec![change("dropped", false); 3];
    of.extend(vec![change("swapped", false); 3]);
    of.push(change("swapped", true));
    let changes: BTreeMap<String, Vec<Change>> = ["a", "b", "c"].map(|kernel| (kernel.to_string(), of.clone())).into();
    for seed in 0..20 {
        let all = choose(&changes, 100, seed);
        assert_eq!(all.len(), 18);
        assert!(all.iter().all(|chosen| chosen.number != 6), "{all:?}");
        let some = choose(&changes, 6, seed);
        for kernel in ["a", "b", "c"] {
            assert_eq!(some.iter().filter(|chosen| chosen.of == kernel).count(), 2, "{some:?}");
        }
        assert_eq!(some.iter().filter(|chosen| chosen.number < 3).count(), 3, "{some:?}");
        assert_eq!(some, choose(&changes, 6, seed), "the seed decides");
        assert_eq!(some, all[..6], "more mutants start with the same ones");
    }
}

/// The output of `snuffer lab score` for six mutants.
fn printed(more: &[&str]) -> String {
    let args = ["lab", "score", "--ops", "tensor.sub", "--cases", "10", "--mutants", "6", "--device", "cpu,sim:0"];
    let output = Command::new(place::snuffer()).args(args).args(more).output().expect("snuffer starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn a_score_is_printed_as_text_and_as_valid_json(_: Device) {
    let score = &valid("score", &printed(&["--json"]))[0];
    let mutants = score["mutants"].as_array().expect("a list");
    let noticed = mutants.iter().filter(|mutant| !mutant["fate"]["noticed"].is_null()).count();
    assert_eq!((mutants.len(), &score["ops"]), (6, &1.into()));
    let text = printed(&[]);
    assert!(text.contains(&format!("**{noticed} of 6 mutants are noticed")), "{text}");
    for mutant in mutants.iter().filter(|mutant| mutant["fate"]["survived"] == "none_seen") {
        assert!(text.contains(mutant["name"].as_str().expect("a name")), "{text}");
    }
}
