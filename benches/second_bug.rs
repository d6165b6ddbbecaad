//! Measures whether a second bug is seen in an op that has a known one: mutants of the kernels of ops with a known wrong value, or of
//! their host code, are planted, and a hunt that knows the findings without the mutant must report something new.
//!
//! `cargo bench --profile dev --bench second_bug -- 120`, after `cargo xtask build`; with `host` behind the number, host code is
//! changed, after `cargo xtask host-mutants`. The number says how many mutants to plant that a drawn case notices: it passes
//! without the mutant on a device that the mutant concerns, and fails there with it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Patience, violations};
use snuffer::exec::environment::{HOST_MUTANT, MUTATE, executable, simulate};
use snuffer::exec::{Build, Executor, Variable, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::{Plan, Shard, hunt};
use snuffer::ops::{self, Op, canary};
use snuffer::oracle::{Kind, OracleName, Violation};
use snuffer::score::{self, Baseline, BaselineCase, Subject, choose, is_entered};
use snuffer::settle::Settings;
use snuffer::store::{Log, Record, Store};

const DEVICES: [Device; 2] = [Device::Cpu, Device::Sim(0)];
const SEED: u64 = 1;

/// How many cases of each op are drawn.
const DRAWN: usize = 60;

/// On how many cases a change is tried.
const TRIED: usize = 100;

/// A planted bug, as the process gets it in which it is planted.
#[derive(Serialize, Deserialize)]
struct Planted {
    /// Cases that reach the change, and that pass without it on the devices that it concerns.
    passing: Vec<Case>,
    /// All cases that reach it.
    cases: Vec<Case>,
    /// The store with what is known.
    store: PathBuf,
    /// Whether host code is changed, and so what the CPU does.
    host: bool,
}

/// What became of it.
#[derive(Serialize, Deserialize)]
struct Told {
    /// Whether a case fails that passes without the change, and the canary still works.
    noticed: bool,
    /// The signatures that a hunt reports as new.
    new: Vec<String>,
    /// The signatures of the cases that fail only with the change, as drawn.
    drawn: BTreeSet<String>,
}

fn main() -> anyhow::Result<()> {
    if is_planted() {
        let told = tell(&rmp_serde::from_read(std::io::stdin())?)?;
        return Ok(std::io::stdout().write_all(&rmp_serde::to_vec_named(&told)?)?);
    }
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(120);
    let subject = if std::env::args().any(|word| word == "host") { Subject::host()? } else { Subject::Kernels };
    let folder = tempfile::tempdir()?;
    let known = folder.path().join("known");
    let everything: Vec<&'static Op> = ops::ALL.iter().copied().filter(|op| op.name != canary::CANARY.name).collect();
    let all = observe(&subject, everything)?;
    let cases: Vec<Case> = all.cases.iter().map(|one| one.case.clone()).collect();
    let drawn = cases.len();
    let findings = new_signatures(cases, &known)?.context("the hunt misses the canary's faults")?;
    eprintln!("{drawn} cases, {} findings", findings.len());
    let concerned = with_wrong_values(&Store::existing(&known)?)?;
    println!("{} ops with a known wrong value", concerned.len());
    let (mut noticed, mut reported) = (0, 0);
    for chosen in choose(&all.changes, usize::MAX, SEED) {
        let change = &all.changes[&chosen.of][chosen.number];
        if matches!(subject, Subject::Kernels) && !is_entered(&all.coverage, &chosen.of, change) {
            continue;
        }
        let of_concerned = all.cases.iter().filter(|one| concerned.contains(one.op.name));
        let reaching: Vec<&BaselineCase> =
            of_concerned.filter(|one| one.reached.has(&chosen, change)).take(TRIED).collect();
        let (name, switch) = subject.switch(&chosen, change);
        let told = if reaching.is_empty() { continue } else { plant(&subject, switch, &reaching, &known)? };
        if !told.noticed {
            continue;
        }
        noticed += 1;
        reported += usize::from(!told.new.is_empty());
        match &told.new[..] {
            [] => println!("hidden: {name}: {:?}", told.drawn),
            new => eprintln!("{reported} of {noticed}: {name}: {}", new.join("; ")),
        }
        if noticed == wanted {
            break;
        }
    }
    println!("{reported} of {noticed} second bugs are reported as new");
    Ok(())
}

/// Whether this process was started for one planted bug.
fn is_planted() -> bool {
    [MUTATE, HOST_MUTANT].iter().any(|variable| std::env::var_os(variable).is_some())
}

/// The drawn cases of `ops` without a change.
fn observe(subject: &Subject, ops: Vec<&'static Op>) -> anyhow::Result<Baseline> {
    let (seed, cases, spec) = (SEED, DRAWN, WorkerSpec::default());
    let (subject, devices) = (subject.clone(), DEVICES.to_vec());
    let plan = score::Plan { subject, ops, devices, seed, cases, mutants: 0, jobs: 2, spec };
    Baseline::observe(&plan, &AtomicBool::new(false), &|_| {})
}

/// The ops of which the store has a finding of a wrong value.
fn with_wrong_values(store: &Store) -> anyhow::Result<BTreeSet<String>> {
    let mut ops = BTreeSet::new();
    for (_, finding) in store.all()? {
        let signature = finding?.signature;
        let by_reference = [OracleName::Reference, OracleName::Gradient].contains(&signature.oracle);
        if signature.kind == Kind::WrongValue && by_reference {
            ops.insert(signature.op);
        }
    }
    Ok(ops)
}

/// Plants a change, with what is known.
fn plant(
    subject: &Subject,
    (variable, value): Variable,
    reaching: &[&BaselineCase],
    known: &Path,
) -> anyhow::Result<Told> {
    let passes = |one: &&&BaselineCase| !one.failures.iter().any(|(_, device)| subject.concerns(*device));
    let planted = Planted {
        passing: reaching.iter().filter(passes).map(|one| one.case.clone()).collect(),
        cases: reaching.iter().map(|one| one.case.clone()).collect(),
        store: known.to_path_buf(),
        host: matches!(subject, Subject::Host(_)),
    };
    let mut command = Command::new(std::env::current_exe()?);
    if planted.host {
        // One worker for all devices; it is linked with a driver.
        let worker = executable(Device::Cpu, Build::Mutated)?;
        command.env("SNUFFER_WORKER", &worker).env("SNUFFER_WORKER_CUDA", worker);
        simulate(&mut command, Device::Sim(0))?;
    }
    let mut child = command.env(variable, &value).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    // The child reads all of its input before it writes.
    child.stdin.take().context("a pipe")?.write_all(&rmp_serde::to_vec_named(&planted)?)?;
    let output = child.wait_with_output()?;
    let read = rmp_serde::from_slice(&output.stdout);
    read.with_context(|| format!("{variable}={} could not be planted", value.display()))
}

/// Runs the cases of a planted bug, and hunts with them.
fn tell(planted: &Planted) -> anyhow::Result<Told> {
    let mut executor = Executor::start(&DEVICES, &WorkerSpec::default())?;
    let mut told = Told { noticed: false, new: Vec::new(), drawn: BTreeSet::new() };
    for case in &planted.passing {
        let op = ops::find(&case.op).context("an op of this build")?;
        let found = violations(&mut executor, op, case, Patience::Short)?;
        let concerns = |device| planted.host || device != Device::Cpu;
        let concerned = found.iter().filter(|violation| violation.devices().any(concerns));
        // A late case may merely be slow.
        let proves = concerned.filter(|violation| violation.kind != Kind::Hang);
        told.drawn.extend(proves.map(|violation: &Violation| violation.signature(op.name).to_string()));
    }
    told.noticed = !told.drawn.is_empty();
    if told.noticed {
        // A change that breaks the canary is no hidden bug: the hunt stops at once and says so.
        let new = new_signatures(planted.cases.clone(), &planted.store)?;
        told.noticed = new.is_some();
        told.new = new.unwrap_or_default();
    }
    Ok(told)
}

/// The signatures that a hunt with these cases adds to the store in `folder`; none if the hunt misses the canary's faults.
fn new_signatures(cases: Vec<Case>, folder: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let store = Store::open(folder)?;
    let plan = Plan {
        ops: ops::ALL.to_vec(),
        modes: Mode::ALL.to_vec(),
        cases_to_run: cases,
        devices: DEVICES.to_vec(),
        spread: false,
        seed: SEED,
        first: 0,
        shard: Shard::WHOLE,
        cases: None,
        time: None,
        jobs: 2,
        spec: WorkerSpec::default(),
        inject: 0,
        settings: Settings { time: Duration::from_secs(5), tries: 2, ..Settings::default() },
    };
    let log = Log::open(&store.campaigns(), &format!("{}", std::process::id()))?;
    let ended = hunt(&plan, None, &store, Record::default(), log, &AtomicBool::new(false), &|_| {})?;
    if is_planted() {
        // The next planted bug shall not meet what this one left.
        ended.new.iter().try_for_each(|(name, _)| std::fs::remove_dir_all(folder.join(name)))?;
    }
    let signatures = ended.new.into_iter().map(|(_, finding)| finding.signature.to_string());
    Ok(ended.missed.is_empty().then(|| signatures.collect()))
}
