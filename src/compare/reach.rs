//! Which ops may run changed code: a guess from names, by which cases are drawn first and more often. It leaves no op out.
//!
//! A function may call all whose names are words in its code, and those of the types among these words. From the functions that an
//! op covers, a search goes through calls until it meets a change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::candles::{Changed, Sources, functions_of};
use crate::device::Device;
use crate::exec::WorkerSpec;
use crate::kernels::launching;
use crate::ops::Op;

/// From this many calls away on, nearly everything is reached.
pub const FAR: usize = 4;

/// A word that is in the names of more functions than this says nothing: `new`, or `Tensor`.
const MANY: usize = 24;

/// The change that an op is nearest to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// How many calls away it is: 0 for what the change is in, [`FAR`] for the farthest.
    pub distance: usize,
    /// Where it is: `Gather::f in candle-core/src/cpu_backend/mod.rs`. `None` if it is far away.
    pub change: Option<String>,
}

/// A function of a candle.
struct Function {
    /// The words in it.
    words: BTreeSet<String>,
    /// Its name and file if it is changed.
    change: Option<String>,
}

/// The functions of a candle.
struct Calls {
    functions: Vec<Function>,
    /// The functions of a name, and those of a type.
    named: HashMap<String, Vec<usize>>,
}

impl Calls {
    fn of(sources: &Sources, changed: &Changed) -> Self {
        let mut calls = Self { functions: Vec::new(), named: HashMap::new() };
        for (file, bytes) in sources.compiled.iter().filter(|(file, _)| is(file, "rs")) {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<&str> = text.lines().collect();
            for (first, last, name) in functions_of(file, &text) {
                let own = lines[first - 1..last.min(lines.len())].join("\n");
                let is_changed = changed.functions.contains(&(file.clone(), name.clone()));
                let change = is_changed.then(|| format!("{name} in {file}"));
                let number = calls.functions.len();
                for word in words(&name) {
                    calls.named.entry(word.to_string()).or_default().push(number);
                }
                calls.functions.push(Function { words: words(&own).map(str::to_string).collect(), change });
            }
        }
        calls
    }

    /// The change to which the fewest calls lead from functions with these names.
    fn reach(&self, names: BTreeSet<String>) -> Reach {
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut words = names;
        for distance in 0..FAR {
            let named = words.iter().filter_map(|word| self.named.get(word));
            let called = named.filter(|functions| functions.len() <= MANY).flatten();
            let new: BTreeSet<usize> = called.copied().filter(|number| !seen.contains(number)).collect();
            if let Some(change) = new.iter().find_map(|&number| self.functions[number].change.clone()) {
                return Reach { distance, change: Some(change) };
            }
            words = new.iter().flat_map(|&number| self.functions[number].words.iter().cloned()).collect();
            seen.extend(new);
        }
        Reach { distance: FAR, change: None }
    }
}

/// The words of a text that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 1)
}

/// The change that each of `ops` is nearest to, by name. Ops that launch changed kernels on a simulated device are 0 away.
pub fn reaches(
    ops: &[&'static Op],
    sources: &Sources,
    changed: &Changed,
    devices: &[Device],
    spec: &WorkerSpec,
    jobs: usize,
) -> anyhow::Result<BTreeMap<&'static str, Reach>> {
    let calls = Calls::of(sources, changed);
    let mut found: BTreeMap<&'static str, Reach> = ops.iter().map(|op| (op.name, calls.reach(names(op)))).collect();
    let simulated = devices.iter().find(|device| matches!(device, Device::Sim(_)));
    let kernels = kernels(sources, changed);
    if let (Some(&device), false) = (simulated, kernels.is_empty()) {
        let launching = launching(ops, &kernels, device, spec, jobs)?;
        let files: Vec<&str> = changed.files.iter().map(String::as_str).filter(|file| !is(file, "rs")).collect();
        let reach = Reach { distance: 0, change: Some(format!("kernels in {}", files.join(", "))) };
        found.extend(launching.into_iter().map(|op| (op.name, reach.clone())));
    }
    Ok(found)
}

/// What may be a name of a kernel in a file of kernels that changed, or in any if a header did.
fn kernels(sources: &Sources, changed: &Changed) -> BTreeSet<String> {
    let is_kernel = |file: &&String| is(file, "cu");
    let is_header = |file: &String| is(file, "cuh") || is(file, "h");
    let any = changed.files.iter().any(is_header);
    let files = sources.compiled.keys().filter(|file| is_kernel(file) && (any || changed.files.contains(*file)));
    let text = |file: &String| String::from_utf8_lossy(&sources.compiled[file]).into_owned();
    files.map(text).flat_map(|text| words(&text).map(str::to_string).collect::<Vec<_>>()).collect()
}

fn is(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|own| own == extension)
}

/// The names of what an op covers: of methods also as a type, which is what kernels of the CPU are.
fn names(op: &Op) -> BTreeSet<String> {
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).to_string();
    let own =
        op.covers.iter().map(|path| last(path)).chain([op.name.rsplit('.').next().unwrap_or_default().to_string()]);
    own.flat_map(|name| [camel(&name), name]).collect()
}

/// `index_select` as `IndexSelect`.
fn camel(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    name.split('_').map(capital).collect()
}

/// How many cases of an op are drawn in a turn, in which an op far from all changes has one.
pub fn weight(distance: usize) -> u64 {
    1 << FAR.saturating_sub(distance)
}
