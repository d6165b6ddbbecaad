//! `snuffer avoid`: the known bugs of candle that some ops, a model, a device or a dtype meet, and what to do until they are fixed.

use std::collections::BTreeSet;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Pattern, UsageError};
use crate::CANDLE;
use crate::causes::{Hit, Instead, Link, RootCause, Symptom, some_of};
use crate::console;
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::Rank;

/// Arguments of `snuffer avoid`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only bugs of ops that match, such as `tensor.conv1d` or `loss.*`; repeatable.
    #[arg(long = "ops", value_name = "OPS", value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// Only bugs of functions that this model of candle-transformers calls, such as `whisper`.
    #[arg(long)]
    model: Option<String>,
    /// Only bugs on this device.
    #[arg(long)]
    device: Option<Kind>,
    /// Only bugs in this dtype, such as `f16` or `q8_0`.
    #[arg(long)]
    dtype: Option<String>,
    /// Only bugs that show like this.
    #[arg(long)]
    symptom: Option<Symptom>,
    /// Also list bugs that only invalid calls and empty tensors meet.
    #[arg(long)]
    all: bool,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

impl ValueEnum for Symptom {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.key()))
    }
}

/// A device of a user.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Cpu,
    Cuda,
}

/// A bug, and what to do about it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Avoided<'a> {
    /// The name of the cause, which `snuffer causes` takes.
    name: &'a str,
    /// The mistake.
    title: &'a str,
    /// How bad the worst of it is.
    rank: Rank,
    /// The main thing that a user sees.
    symptom: Symptom,
    /// The calls that meet it.
    hit: Hit,
    /// The kinds of device that have it: `cpu`, `cuda`.
    devices: Vec<&'static str>,
    /// The dtypes that have it; all if there are none.
    dtypes: &'a [String],
    /// The ops that it concerns.
    ops: Vec<&'static str>,
    /// The models of candle-transformers that call such a function.
    models: &'a [String],
    /// What to do until it is fixed, if anything is known.
    workaround: Option<&'a str>,
    /// The extra work of it, if it changes the call; then a test has run it.
    cost: Option<String>,
    /// Issues and pull requests of candle.
    upstream: &'a [Link],
}

/// Prints the bugs, those first that hit most people.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let causes = RootCause::all().map_err(UsageError)?;
    let bugs = || causes.iter().filter(|cause| cause.note.is_none());
    let meant = |pattern: &Pattern| pattern.choose(ops::ALL.to_vec(), |op| op.name);
    if let Some(pattern) = args.ops.iter().find(|pattern| meant(pattern).is_empty()) {
        return Err(UsageError(format!("no op matches `{pattern}`; `snuffer ops` lists them")).into());
    }
    let ops: BTreeSet<&str> = args.ops.iter().flat_map(meant).map(|op| op.name).collect();
    if let Some(model) = args.model.as_ref().filter(|model| !bugs().any(|cause| cause.models.contains(model))) {
        let advice = "models are named as in candle-transformers/src/models, such as `llama`";
        return Err(UsageError(format!("no known bug is in a function that `{model}` calls; {advice}")).into());
    }
    let all = RootCause::by_impact(&causes).into_iter().filter(|cause| cause.note.is_none() && args.takes(cause, &ops));
    let (usual, rest): (Vec<&RootCause>, Vec<&RootCause>) =
        all.partition(|cause| args.all || matches!(cause.hit, Hit::Ordinary | Hit::Rare));
    if args.json {
        for cause in &usual {
            println!("{}", serde_json::to_string(&Avoided::new(cause))?);
        }
        return Ok(Exit::Clean);
    }
    for cause in &usual {
        show(cause, &causes);
    }
    let more = match rest.len() {
        0 => String::new(),
        rest => format!("; `--all` also lists {rest} that only invalid calls and empty tensors meet"),
    };
    println!("{} in candle {CANDLE}{more}", console::count(usual.len(), "known bug"));
    Ok(Exit::Clean)
}

impl Args {
    /// True if `cause` is asked for, by `ops` among other things, unless there are none.
    fn takes(&self, cause: &RootCause, ops: &BTreeSet<&str>) -> bool {
        let ops = ops.is_empty() || cause.ops().any(|op| ops.contains(op.name));
        let device = self.device.is_none_or(|kind| cause.on().contains(&kind.name()));
        let has_dtype = |dtype: &String| cause.dtypes.iter().any(|own| own.eq_ignore_ascii_case(dtype));
        ops && device
            && self.model.as_ref().is_none_or(|model| cause.models.contains(model))
            && self.dtype.as_ref().is_none_or(|dtype| cause.dtypes.is_empty() || has_dtype(dtype))
            && self.symptom.is_none_or(|symptom| cause.symptom == symptom)
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

impl<'a> Avoided<'a> {
    fn new(cause: &'a RootCause) -> Self {
        let RootCause { name, title, dtypes, models, upstream, .. } = cause;
        Self {
            name,
            title,
            rank: cause.rank,
            symptom: cause.symptom,
            hit: cause.hit,
            devices: cause.on(),
            dtypes,
            ops: cause.ops().map(|op| op.name).collect(),
            models,
            workaround: cause.workaround.as_deref().map(str::trim),
            cost: cause.instead.as_ref().map(Instead::cost),
            upstream,
        }
    }
}

fn show(cause: &RootCause, causes: &[RootCause]) {
    println!("{}", console::headed(cause.rank, &cause.title));
    let line = |label: &str, text: &str| println!("{}", console::with_label(label, text));
    line("seen as", &cause.seen_as());
    if !cause.models.is_empty() {
        line("called by", &some_of(&cause.models));
    }
    line("instead", &cause.workaround.as_deref().unwrap_or(NONE).trim().replace('\n', " "));
    cause.instead.iter().for_each(|instead| line("costs", &instead.cost()));
    cause.upstream.iter().for_each(|Link { url, kind, .. }| line("upstream", &format!("{url} {kind}")));
    line("more", &format!("snuffer causes {}", cause.short_name(causes)));
    println!("");
}

/// The advice where no workaround is known.
const NONE: &str = "No workaround is known: avoid the call.";
