//! `snuffer guard`: checks the tensors of a file before a GPU sees them.

use std::path::PathBuf;

use super::UsageError;
use crate::CANDLE;
use crate::case::Param;
use crate::causes::RootCause;
use crate::device::Device;
use crate::exit_code::Exit;
use crate::guard::{self, File, Loaded, Refused};
use crate::ops;

/// Arguments of `snuffer guard`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A safetensors file with the inputs of a model.
    file: PathBuf,
    /// A tensor of labels. Every label must be a class.
    #[arg(long, value_name = "TENSOR")]
    labels: Vec<String>,
    /// How many classes there are.
    #[arg(long)]
    classes: Option<usize>,
    /// A label to ignore. candle cannot ignore labels: leave their rows out of the loss (`guard::rows_to_keep`).
    #[arg(long, value_name = "LABEL", requires = "labels", allow_negative_numbers = true)]
    ignore: Option<i64>,
    /// A tensor of token ids. Every id must be a row of the embedding.
    #[arg(long, value_name = "TENSOR")]
    ids: Vec<String>,
    /// How many rows the embedding has.
    #[arg(long)]
    vocabulary: Option<usize>,
    /// A tensor that must have no NaN or infinity.
    #[arg(long, value_name = "TENSOR")]
    finite: Vec<String>,
    /// Check the contract of this op, called with tensors of the file. `snuffer ops` lists the ops.
    #[arg(long, requires = "input")]
    op: Option<String>,
    /// A tensor of that call: its name in cases, then in the file, such as `inp=logits`.
    #[arg(long, value_name = "NAME=TENSOR", value_parser = pair, requires = "op")]
    input: Vec<(String, String)>,
    /// Another argument of that call, such as `delta=0.5`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "op")]
    param: Vec<(String, String)>,
    /// The device of that call.
    #[arg(long, default_value = "cuda:0", requires = "op")]
    device: Device,
}

/// The result of a check: a word and a sentence if it passes.
type Checked = Result<(&'static str, String), Refused>;

/// The word of a check that passes.
const FINE: &str = "fine";

/// Runs all checks and prints the result of each. `Findings` if one refuses.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let path = args.file.display();
    counted(args)?;
    if !args.file.is_file() {
        return Err(UsageError(format!("there is no file {path}")).into());
    }
    let file = File::open(&args.file).map_err(|_| UsageError(format!("{path} is not a safetensors file")))?;
    let results = check(args, &file)?;
    if results.is_empty() {
        let have = file.list().join(", ");
        let message = format!("say what to check: --labels, --ids, --finite or --op; {path} has {have}");
        return Err(UsageError(message).into());
    }
    let mut exit = Exit::Clean;
    for result in results {
        match result {
            Ok((word, passed)) => println!("{word:<9}{passed}"),
            Err(refused) => {
                exit = Exit::Findings;
                println!("refused  {refused}");
            }
        }
    }
    Ok(exit)
}

/// Refuses labels or ids without their number, and the number of the other kind.
fn counted(args: &Args) -> Result<(), UsageError> {
    let Args { labels, classes, ids, vocabulary, .. } = args;
    let problem = match (labels.is_empty(), classes.is_some(), ids.is_empty(), vocabulary.is_some()) {
        (false, false, ..) => "--labels needs --classes, the number of classes",
        (_, _, false, false) => "--ids needs --vocabulary, the number of rows of the embedding",
        (true, true, ..) => "--classes belongs to --labels; with --ids, write --vocabulary",
        (_, _, true, true) => "--vocabulary belongs to --ids; with --labels, write --classes",
        _ => return Ok(()),
    };
    Err(UsageError(problem.to_string()))
}

/// Checks the tensors of `file` that the arguments name.
fn check(args: &Args, file: &File) -> Result<Vec<Checked>, UsageError> {
    let path = args.file.display();
    let find = |name: &String| {
        let found = file.tensor(name).map_err(|error| {
            // A backtrace may follow the first line.
            UsageError(format!("{path}: {name}: {}", error.to_string().lines().next().unwrap_or_default()))
        })?;
        let missing = || UsageError(format!("{path} has no tensor `{name}`; it has {}", file.list().join(", ")));
        found.ok_or_else(missing)
    };
    let mut results = Vec::new();
    let classes = args.classes.unwrap_or_default();
    for name in &args.labels {
        let result = guard::labels(name, &find(name)?, classes, args.ignore);
        results.push(result.map(|()| (FINE, format!("{name}: labels of {classes} classes"))));
    }
    let rows = args.vocabulary.unwrap_or_default();
    for name in &args.ids {
        let result = guard::ids(name, &find(name)?, rows);
        results.push(result.map(|()| (FINE, format!("{name}: ids of {rows} rows"))));
    }
    for name in &args.finite {
        results.push(guard::finite(name, &find(name)?).map(|()| (FINE, format!("{name}: finite"))));
    }
    if let Some(op) = &args.op {
        let tensors = args.input.iter().map(|(_, name)| find(name)).collect::<Result<Vec<_>, _>>()?;
        let call = call_of(args, op, &tensors);
        results.push(check_call(&call, op)?);
        let causes = RootCause::all().map_err(UsageError)?;
        let warnings = known_causes(&causes, &call, op, args.device).into_iter();
        results.extend(warnings.map(|text| Ok(("warning", text))));
    }
    Ok(results)
}

/// The call that the arguments make of `tensors`.
fn call_of<'a>(args: &'a Args, op: &'a str, tensors: &'a [Loaded]) -> guard::Call<'a> {
    let mut call = guard::Call::new(op).on(args.device);
    for ((name, _), tensor) in args.input.iter().zip(tensors) {
        call = call.input(name, tensor);
    }
    for (name, value) in &args.param {
        call = call.param(name, Param::read(value));
    }
    call
}

/// The known mistakes of candle that the call may run into, each with what to do until it is fixed.
fn known_causes(causes: &[RootCause], call: &guard::Call, op: &str, device: Device) -> Vec<String> {
    let (Some(op), Ok(case)) = (ops::find(op), call.case()) else { return Vec::new() };
    let met = causes.iter().filter(|cause| cause.may_meet(op, &case, device));
    let text = |cause: &RootCause| {
        let instead = cause.workaround.as_deref().map_or_else(String::new, |what| format!(" {}", what.trim()));
        format!("{}: candle {CANDLE} has a known bug here: {}.{instead}", op.name, cause.title)
    };
    met.map(text).collect()
}

/// Checks the contract of a call of `op`.
fn check_call(call: &guard::Call, op: &str) -> Result<Checked, UsageError> {
    call.fits().map_err(UsageError)?;
    Ok(call.check().map(|()| match call.unspecified() {
        None => (FINE, format!("{op}: within its contract")),
        Some(why) => ("unknown", format!("{op}: nothing is promised for such a call ({why})")),
    }))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_string(), value.to_string()))
}
