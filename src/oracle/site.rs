//! The site of a failure in signatures: file and function, which the next release of candle most likely still has. A line
//! number changes with every edit above it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::outcome::Phase;

/// The functions of candle, its kernels and cudarc: file, first line, last line, name. Made by `cargo xtask functions`.
static TABLE: &str = include_str!("functions.tsv");

/// The functions by file.
static FUNCTIONS: LazyLock<BTreeMap<&str, Vec<Function>>> = LazyLock::new(|| {
    let mut functions: BTreeMap<&str, Vec<Function>> = BTreeMap::new();
    for line in TABLE.lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("the table has four columns");
        let (file, first, last, name) = (next(), next(), next(), next());
        let number = |field: &str| field.parse().expect("the table has numbers of lines");
        functions.entry(file).or_default().push(Function { first: number(first), last: number(last), name });
    }
    functions
});

struct Function {
    first: u32,
    last: u32,
    name: &'static str,
}

/// The site of a failure at `place`, which is `crate/src/file.rs:line`, a kernel, or empty: `gather
/// (candle-kernels/src/indexing.cu)`, with the phase unless it is the forward pass.
pub fn site(place: &str, phase: Phase) -> String {
    let site = by_function(place);
    match (site.as_str(), phase) {
        ("", phase) => phase.name().to_string(),
        (_, Phase::Forward) => site,
        (_, phase) => format!("{site} in {}", phase.name()),
    }
}

/// `place` with the name of the function instead of the line.
pub fn by_function(place: &str) -> String {
    let Some((file, line)) = place.rsplit_once(':') else { return place.to_string() };
    let Ok(line) = line.parse::<u32>() else { return place.to_string() };
    let around = FUNCTIONS.get(file).into_iter().flatten().filter(|it| (it.first..=it.last).contains(&line));
    match around.max_by_key(|it| it.first) {
        Some(function) => format!("{} ({file})", function.name),
        None => file.to_string(),
    }
}
