//! Measures how small minimized cases are, compared with the smallest known case of each signature, and how many candidates
//! that takes.
//!
//! A word selects the signatures that contain it, and prints the cases that could be smaller.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Patience, violations};
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Op};
use snuffer::oracle::{Evidence, Kind, Signature, judge};
use snuffer::settle::{Settings, canonical, settle};
use snuffer::store::regression::read;
use snuffer::tensor::Tensor;

const SEED: u64 = 1;

/// How many cases are drawn. The largest ones run first.
const DRAWN: u64 = 100_000;

/// How many signatures are measured.
const SIGNATURES: usize = 50;

/// How many further failing cases of each signature are minimized.
const OTHERS: usize = 5;

/// The failing cases of one signature: the largest, and others.
type Starts = Vec<Case>;

/// A minimized case.
struct Shrunk {
    case: Case,
    tried: usize,
    seconds: f64,
}

/// One signature's results.
struct Row {
    signature: Signature,
    start: Case,
    result: Shrunk,
    /// The smallest known case and its origin.
    smallest: (Case, &'static str),
    /// How many results fail with another signature than their start.
    slipped: usize,
}

pub fn measure(word: Option<&str>) -> anyhow::Result<()> {
    let mut executor = Executor::start(&[Device::Cpu], &WorkerSpec::default())?;
    let mut known = kept()?;
    let mut rows = Vec::new();
    for (signature, starts) in failing(&mut executor)? {
        if word.is_none_or(|word| signature.to_string().contains(word)) {
            let kept = known.remove(&signature).unwrap_or_default();
            rows.push(row(&mut executor, signature, starts, kept)?);
        }
    }
    print!("{}", table(&rows));
    for row in rows.iter().filter(|row| row.result.case.complexity() > row.smallest.0.complexity()) {
        let Row { signature, start, result, smallest: (smallest, from), .. } = row;
        println!("{signature}: {:?}, and {:?} from {from}", size(&result.case), size(smallest));
        if word.is_some() {
            let [start, result, smallest] = [start, &result.case, smallest].map(Case::to_text);
            println!("start:\n{start}\nresult:\n{result}\nsmallest:\n{smallest}");
        }
    }
    Ok(())
}

/// Failing cases of [`SIGNATURES`] signatures: of each the largest drawn case, then others in the order of drawing.
fn failing(executor: &mut Executor) -> anyhow::Result<Vec<(Signature, Starts)>> {
    let ops: Vec<&'static Op> = ops::ALL.iter().copied().filter(|op| op.name != "canary").collect();
    let drawn = |index: u64| Sample::nth(&ops, &Mode::ALL, SEED, index);
    let mut largest: Vec<u64> = (0..DRAWN).collect();
    largest.sort_by_cached_key(|index| std::cmp::Reverse(elements(&drawn(*index).drawn.case)));
    let mut found: Vec<(Signature, Starts)> = Vec::new();
    // The canonical signature of each raw one: a known raw signature is not canonicalized again.
    let mut names: HashMap<Signature, Signature> = HashMap::new();
    for index in largest.into_iter().chain(0..DRAWN) {
        if found.len() == SIGNATURES && found.iter().all(|(_, starts)| starts.len() > OTHERS) {
            break;
        }
        let sample = drawn(index);
        let wanted = |found: &[(Signature, Starts)], signature: &Signature| {
            let starts = found.iter().find(|(known, _)| known == signature).map(|(_, starts)| starts.len());
            starts.map_or(found.len() < SIGNATURES, |count| count <= OTHERS)
        };
        let Some(came) = signature(executor, sample.op, &sample.drawn.case)? else { continue };
        if names.get(&came).is_some_and(|name| !wanted(&found, name)) {
            continue;
        }
        let (case, name) = canonical(executor, sample.drawn.case, came.clone())?;
        names.insert(came, name.clone());
        if !wanted(&found, &name) {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, starts)) => starts.push(case),
            None => found.push((name, vec![case])),
        }
    }
    Ok(found)
}

/// The main signature of `case`, if it fails. A late case gets the full deadline, as in a hunt.
fn signature(executor: &mut Executor, op: &'static Op, case: &Case) -> anyhow::Result<Option<Signature>> {
    let mut found = violations(executor, op, case, Patience::Short)?;
    if found.iter().any(|violation| violation.kind == Kind::Hang) {
        found = violations(executor, op, case, Patience::Full)?;
    }
    Ok(found.first().map(|violation| violation.signature(op.name)))
}

/// The regressions' cases by signature.
fn kept() -> anyhow::Result<BTreeMap<Signature, Vec<Case>>> {
    let mut kept: BTreeMap<Signature, Vec<Case>> = BTreeMap::new();
    for (_, regression) in read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions"))? {
        if let Some(signature) = regression.signature {
            kept.entry(signature).or_default().push(regression.case);
        }
    }
    Ok(kept)
}

fn row(executor: &mut Executor, signature: Signature, mut starts: Starts, kept: Vec<Case>) -> anyhow::Result<Row> {
    let start = starts.remove(0);
    let result = minimized(executor, &start, &signature)?;
    let mut results = vec![(result.case.clone(), "this start")];
    for (from, cases) in [("another start", starts), ("a regression", kept)] {
        for case in cases {
            if self::signature(executor, op(&case), &case)?.as_ref() == Some(&signature) {
                results.push((minimized(executor, &case, &signature)?.case, from));
            }
        }
    }
    let mut slipped = 0;
    let mut smallest = (start.clone(), "nothing");
    for (case, from) in results {
        if !fails_in_new_workers(executor, &case, &signature)? {
            slipped += 1;
        } else if case.complexity() < smallest.0.complexity() {
            smallest = (case, from);
        }
    }
    Ok(Row { signature, start, result, smallest, slipped })
}

fn op(case: &Case) -> &'static Op {
    ops::find(&case.op).expect("the case was drawn")
}

/// The case as a hunt minimizes it.
fn minimized(executor: &mut Executor, case: &Case, signature: &Signature) -> anyhow::Result<Shrunk> {
    let begun = Instant::now();
    let settings = Settings { tries: 1, ..Settings::default() };
    let finding = settle(executor, case.clone(), signature, settings)?.finding;
    let seconds = begun.elapsed().as_secs_f64();
    // A case that does not fail again is left as it was.
    let (case, tried) = finding.map_or((case.clone(), 0), |finding| (finding.case, finding.origin.attempts));
    Ok(Shrunk { case, tried, seconds })
}

fn fails_in_new_workers(executor: &mut Executor, case: &Case, signature: &Signature) -> anyhow::Result<bool> {
    let observations = executor.observe_in_new_workers(case)?;
    let verdict = judge(&Evidence::new(op(case), case, &observations));
    Ok(verdict.signatures(&case.op).iter().any(|shown| shown.covers(signature)))
}

fn elements(case: &Case) -> usize {
    case.inputs.values().filter_map(Tensor::elements).sum()
}

/// The size for a reader: elements of all inputs, and lines of text.
fn size(case: &Case) -> (usize, usize) {
    (elements(case), case.to_text().lines().filter(|line| !line.is_empty()).count())
}

/// The median and the 90th percentile.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    if values.is_empty() { "none".into() } else { format!("{:.digits$}, {:.digits$}", at(0.5), at(0.9)) }
}

fn table(rows: &[Row]) -> String {
    let line = |what: &str, of: &dyn Fn(&Row) -> f64, digits| {
        format!("| {what} | {} |\n", spread(rows.iter().map(of), digits))
    };
    let simplest = rows.iter().filter(|row| row.result.case.complexity() <= row.smallest.0.complexity()).count();
    let slipped: usize = rows.iter().map(|row| row.slipped).sum();
    String::from("| | median, 90th percentile |\n|---|---|\n")
        + &line("elements of the start", &|row| size(&row.start).0 as f64, 0)
        + &line("lines of the start", &|row| size(&row.start).1 as f64, 0)
        + &line("elements", &|row| size(&row.result.case).0 as f64, 0)
        + &line("lines", &|row| size(&row.result.case).1 as f64, 0)
        + &line("candidates", &|row| row.result.tried as f64, 0)
        + &line("seconds", &|row| row.result.seconds, 3)
        + &format!("| the simplest known | {simplest} of {} |\n| slipped, of all results | {slipped} |\n", rows.len())
}
