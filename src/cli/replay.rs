//! `snuffer replay`: runs a case, and shows its contract and what happens.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::check_lacking;
use super::{CandleArg, Common, KernelsArg, KnownArg, SanitizerArg, StoreArg, UsageError, cases, usable};
use crate::case::Case;
use crate::console;
use crate::device::Device;
use crate::exec::environment::CHECKS;
use crate::exec::{Build, CandleUnderTest, Deadline, DeviceBehaviour, EditedKernels, Executor, Worker, WorkerSpec};
use crate::exit_code::Exit;
use crate::investigate::{self, Trace};
use crate::oracle::{Evidence, Signature, Verdict, Violation, judge};
use crate::outcome::Observation;
use crate::program::call;
use crate::report::{self, Answer, Blame};

/// Arguments of `snuffer replay`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct Args {
    /// A file with a case, finding or regression, or a finding of the store: its name, its id, or a unique part of its name; `-` reads standard input.
    case: PathBuf,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    sanitizer: SanitizerArg,
    #[command(flatten)]
    candle: CandleArg,
    #[command(flatten)]
    kernels: KernelsArg,
    /// Find the call at fault, forward or backward, by running longer and longer prefixes of the case.
    #[arg(long)]
    blame: bool,
    /// Find the calls that turn finite values into NaN or infinity, forward and backward, on each device.
    #[arg(long)]
    trace_nan: bool,
    /// Run this many times in new processes, and count the runs with byte-identical outcomes and diagnoses.
    #[arg(long)]
    times: Option<u32>,
    /// Run with this many seeds. A seed makes the simulated device vary what PTX leaves open: approximations within their
    /// bounds, and the order of warps. A verdict that changes is fragile.
    #[arg(long)]
    jitter: Option<u64>,
    /// Print the verdict as JSON.
    #[arg(long, conflicts_with_all = ["blame", "trace_nan", "times", "jitter"])]
    json: bool,
    /// Use the build without debug assertions and overflow checks.
    #[arg(long)]
    unchecked: bool,
}

/// What a case does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replayed {
    /// What is at fault, and what to do.
    answer: Answer,
    /// The op's name.
    op: &'static str,
    /// The call as candle code.
    call: String,
    /// What the contract promises.
    promised: String,
    /// The verdict.
    verdict: Word,
    /// Why it fails, is skipped, or is judged in part only: of several violations, the main one.
    why: Option<String>,
    /// The signature of the main violation.
    signature: Option<Signature>,
    /// Every violation, the main one first.
    violations: Vec<Broken>,
    /// What each device does.
    devices: Vec<Did>,
}

/// A verdict in a word.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    /// candle keeps its promises.
    Pass,
    /// It keeps what holds on any input, and has no other contract.
    Partly,
    /// It was not judged.
    Skip,
    /// It breaks a promise.
    Fail,
}

/// A promise that candle breaks.
#[derive(Debug, Serialize, JsonSchema)]
struct Broken {
    /// The signature.
    signature: Signature,
    /// The devices that break it.
    devices: Vec<String>,
    /// The expected and the actual result.
    detail: String,
}

/// What one device does with a case.
#[derive(Debug, Serialize, JsonSchema)]
struct Did {
    /// The device.
    device: String,
    /// The outcome, in a line.
    outcome: String,
}

impl Replayed {
    fn new(evidence: &Evidence, verdict: &Verdict, answer: Answer) -> Self {
        let (word, why) = match verdict {
            Verdict::Pass => (Word::Pass, None),
            Verdict::Partly(why) => (Word::Partly, Some(why.to_string())),
            Verdict::Skip(why) => (Word::Skip, Some(why.to_string())),
            Verdict::Fail(violations) => (Word::Fail, violations.first().map(|main| report::reason(evidence, main))),
        };
        let broken = |violation: &Violation| Broken {
            signature: violation.signature(evidence.op.name),
            devices: violation.devices().map(|device| device.to_string()).collect(),
            detail: violation.detail.clone(),
        };
        let did = |seen: &Observation| Did { device: seen.device.to_string(), outcome: seen.outcome.summary() };
        Self {
            answer,
            op: evidence.op.name,
            call: call(evidence.op, evidence.case),
            promised: report::promised(&evidence.contract),
            verdict: word,
            why,
            signature: verdict.signatures(evidence.op.name).into_iter().next(),
            violations: verdict.violations().iter().map(broken).collect(),
            devices: evidence.observations.iter().map(did).collect(),
        }
    }
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let (op, case) = cases::named(&args.case, store)?;
    let devices = args.common.devices()?;
    if args.jitter.is_some() && !devices.iter().any(|device| matches!(device, Device::Sim(_))) {
        return Err(UsageError("--jitter needs a simulated device; add `--device sim:0`".to_string()).into());
    }
    let mut spec = args.kernels.apply(&devices, args.candle.apply(&devices, args.common.spec())?)?;
    spec.build = if args.unchecked { Build::Unchecked } else { Build::Checked };
    spec.behaviour.sanitizer = usable(args.sanitizer.tool, &devices)?;
    check_lacking(&case, &spec)?;
    note_another_candle(args, store, &spec);
    let start = |behaviour| Executor::start(&devices, &WorkerSpec { behaviour, ..spec.clone() });
    let mut executor = start(spec.behaviour)?;
    let observations = executor.observe(&case, Deadline::Full)?;
    let evidence = Evidence::new(op, &case, &observations);
    let verdict = judge(&evidence);
    let answer = Answer::new(&evidence, &verdict, &KnownArg::default().failures()?);
    let is_invalid = answer.blame == Blame::Call;
    if args.json {
        println!("{}", serde_json::to_string(&Replayed::new(&evidence, &verdict, answer))?);
    } else {
        print!("{}", console::labelled(&report::replay(&evidence, &verdict, &answer)));
    }
    if args.blame {
        // A device that delivers its error late would charge it to a call that is not at fault.
        let blame =
            investigate::blame(&mut start(DeviceBehaviour { immediate_errors: true, ..spec.behaviour })?, &case)?;
        println!("blame     {}", blame.map_or("no call".to_string(), |blame| blame.to_string()));
    }
    if args.trace_nan {
        trace(&devices, &spec, &case)?;
    }
    let mut steady = true;
    if let Some(times) = args.times {
        let same = repeated(&mut executor, &case, times)?;
        println!("times     {same} of {times} identical to the byte");
        steady &= same == times;
    }
    for seed in 0..args.jitter.unwrap_or_default() {
        let behaviour = DeviceBehaviour { jitter: Some(seed), ..spec.behaviour };
        let observations = start(behaviour)?.observe(&case, Deadline::Full)?;
        let moved = judge(&Evidence::new(op, &case, &observations));
        let same = moved.signatures(op.name) == verdict.signatures(op.name);
        println!("jitter    seed {seed}: {}", if same { "the same verdict".to_string() } else { describe(&moved) });
        steady &= same;
    }
    Ok(match verdict {
        Verdict::Fail(_) => Exit::Findings,
        _ if !steady => Exit::Findings,
        _ if is_invalid => Exit::InvalidCall,
        _ => Exit::Clean,
    })
}

/// Says so if the case is that of a finding of another candle or other kernels.
fn note_another_candle(args: &Args, store: &StoreArg, spec: &WorkerSpec) {
    let named = args.case.to_string_lossy();
    let finding = if named == "-" { None } else { store.finding(&named).ok() };
    let Some((_, finding)) = finding else { return };
    let (candle, kernels) = (finding.origin.candle.as_ref(), finding.origin.kernels.as_ref());
    if !EditedKernels::same(kernels, spec.kernels.as_deref()) {
        let [found, these] = [kernels, spec.kernels.as_deref()].map(EditedKernels::described);
        eprintln!("note: the finding is of {found}, and these are {these}");
    } else if !CandleUnderTest::same(candle, spec.candle.as_deref()) {
        let [found, this] = [candle, spec.candle.as_deref()].map(CandleUnderTest::described);
        eprintln!("note: the finding is of {found}, and this is {this}");
    }
}

/// Prints where NaN and infinities come from, once for all devices that do the same.
fn trace(devices: &[Device], spec: &WorkerSpec, case: &Case) -> anyhow::Result<()> {
    let show = |entry: String| println!("nan       {}", entry.replace('\n', "\n          "));
    if let Some(inputs) = investigate::non_finite_inputs(case) {
        show(format!("in the inputs of the case: {inputs}"));
    }
    let mut traces: Vec<(String, Trace)> = Vec::new();
    for &device in devices {
        let trace = investigate::trace(&mut Worker::start(device, spec)?, case)?;
        match traces.iter_mut().find(|(_, other)| other.entries("") == trace.entries("")) {
            Some((on, _)) => *on += &format!(", {device}"),
            None => traces.push((device.to_string(), trace)),
        }
    }
    traces.iter().flat_map(|(on, trace)| trace.entries(on)).for_each(show);
    // Inside of a call, the simulated device knows the instruction.
    for &device in devices.iter().filter(|device| matches!(device, Device::Sim(_))) {
        let spec = spec.with([(CHECKS, "not-finite".into())]);
        let seen = Executor::start(&[device], &spec)?.observe(case, Deadline::Full)?;
        let facts = seen.iter().flat_map(|seen| &seen.device_reports.facts);
        facts.for_each(|fact| show(format!("in a kernel on {device}: {fact}")));
    }
    Ok(())
}

/// How many of `times` runs, each in new processes, equal the first.
fn repeated(executor: &mut Executor, case: &Case, times: u32) -> anyhow::Result<u32> {
    let mut first = None;
    let mut same = 0;
    for _ in 0..times {
        let seen = executor.observe_in_new_workers(case)?;
        same += u32::from(*first.get_or_insert_with(|| seen.clone()) == seen);
    }
    Ok(same)
}

fn describe(verdict: &Verdict) -> String {
    let shown = |it: &Violation| format!("{} ({}): {}", it.kind, it.oracle, it.detail);
    match verdict.violations() {
        [] => "no violation".to_string(),
        violations => violations.iter().map(shown).collect::<Vec<_>>().join("; "),
    }
}
