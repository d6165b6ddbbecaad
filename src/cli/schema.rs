//! `snuffer schema`: the JSON Schemas of what `snuffer` prints or stores as JSON.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::{UsageError, avoid, causes, doctor, list, ops, regressions, replay, similar};
use crate::console;
use crate::detectors::Measured;
use crate::exit_code::Exit;
use crate::fidelity::Fidelity;
use crate::golden::Checked;
use crate::investigate::Bisection;
use crate::report::{Comparison, Summary};
use crate::score::Score;
use crate::store::Failure;
use crate::store::history::Answer;

/// Arguments of `snuffer schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name of a schema. By default all names are listed.
    name: Option<String>,
}

/// The schema of one output.
struct Output {
    name: &'static str,
    /// The command or file that has it.
    of: &'static str,
    schema: fn() -> Schema,
}

/// All JSON outputs. A new one must be added here.
const OUTPUTS: [Output; 19] = [
    Output { name: "avoid", of: "a line of snuffer avoid --json", schema: schema::<avoid::Avoided> },
    Output { name: "bisect", of: "snuffer bisect --json", schema: schema::<Bisection> },
    Output { name: "cause", of: "a line of snuffer causes --json", schema: schema::<causes::Explained> },
    Output { name: "comparison", of: "snuffer compare --format json", schema: schema::<Comparison> },
    Output { name: "detectors", of: "a line of snuffer detectors --json", schema: schema::<Measured> },
    Output { name: "doctor", of: "snuffer doctor --json", schema: schema::<doctor::Machine> },
    Output { name: "failure", of: "a line of campaigns/NAME.failures.jsonl in a store", schema: schema::<Failure> },
    Output { name: "fidelity", of: "snuffer lab fidelity --json", schema: schema::<Fidelity> },
    Output {
        name: "finding",
        of: "a line of snuffer findings list --json, and snuffer findings show --json",
        schema: schema::<list::Listed>,
    },
    Output { name: "golden", of: "snuffer lab golden check --json", schema: schema::<Checked> },
    Output { name: "group", of: "a line of snuffer findings similar --json", schema: schema::<similar::Alike> },
    Output { name: "history", of: "snuffer history --json", schema: schema::<Answer> },
    Output {
        name: "hunt",
        of: "a line of snuffer hunt --json or snuffer import --json",
        schema: schema::<console::Event>,
    },
    Output { name: "matrix", of: "snuffer ops --matrix --json", schema: schema::<ops::Matrix> },
    Output { name: "op", of: "a line of snuffer ops --json", schema: schema::<ops::Listed> },
    Output {
        name: "regression",
        of: "a line of snuffer regressions --list --json",
        schema: schema::<regressions::Listed>,
    },
    Output { name: "replay", of: "snuffer replay --json", schema: schema::<replay::Replayed> },
    Output { name: "summary", of: "snuffer findings summary --json", schema: schema::<Summary> },
    Output { name: "score", of: "snuffer lab score --json", schema: schema::<Score> },
];

/// The schema of what is written, not of what could be read: a field with a default is always present.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(name) = &args.name else {
        for output in OUTPUTS {
            println!("{:<10} {}", output.name, output.of);
        }
        return Ok(Exit::Clean);
    };
    let output = OUTPUTS.iter().find(|output| output.name == name);
    let output =
        output.ok_or_else(|| UsageError(format!("there is no schema `{name}`; `snuffer schema` lists them")))?;
    println!("{}", serde_json::to_string_pretty(&(output.schema)())?);
    Ok(Exit::Clean)
}
