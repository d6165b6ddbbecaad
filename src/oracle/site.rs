//! The site of a failure in signatures: file and function, which the next release of candle most likely still has. A line
//! number changes with every edit above it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::outcome::Phase;

/// The functions of candle, its kernels and cudarc: file, first line, last line, name. Made by `cargo xtask functions`.
static TABLE: &str = include_str!("functions.tsv");

/// The functions of the release under test.
static TESTED: LazyLock<Functions> = LazyLock::new(|| Functions::parse(TABLE));

/// Functions by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions(BTreeMap<String, Vec<Function>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    first: u32,
    last: u32,
    name: String,
}

impl Functions {
    /// Those of a table: file, first line, last line, name.
    pub fn parse(table: &str) -> Self {
        let mut functions: BTreeMap<String, Vec<Function>> = BTreeMap::new();
        for line in table.lines() {
            let mut fields = line.split('\t');
            let mut next = || fields.next().expect("the table has four columns");
            let (file, first, last, name) = (next(), next(), next(), next().to_string());
            let number = |field: &str| field.parse().expect("the table has numbers of lines");
            functions.entry(file.to_string()).or_default().push(Function {
                first: number(first),
                last: number(last),
                name,
            });
        }
        Self(functions)
    }

    /// The function at a line of a file.
    fn at(&self, file: &str, line: u32) -> Option<&str> {
        let around = self.0.get(file).into_iter().flatten().filter(|it| (it.first..=it.last).contains(&line));
        Some(&around.max_by_key(|it| it.first)?.name)
    }

    /// `place` with the name of its function, if this has the file: the lines of another candle are not those of the release under test.
    pub fn locate(&self, place: &mut String) {
        if let Some((file, line)) = line_of(place)
            && self.0.contains_key(file)
        {
            let name = self.at(file, line).unwrap_or(NO_FUNCTION);
            *place = format!("{place}{IN}{name}");
        }
    }
}

/// What stands between a place and the name of its function, in places of another candle.
const IN: &str = " in ";

/// What stands for the name outside of all functions.
const NO_FUNCTION: &str = "no function";

/// The file and line of `place`, if it has a line.
fn line_of(place: &str) -> Option<(&str, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
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
    let (place, named) = place.split_once(IN).map_or((place, None), |(place, name)| (place, Some(name)));
    let Some((file, line)) = line_of(place) else { return place.to_string() };
    match named.or_else(|| TESTED.at(file, line)).filter(|name| *name != NO_FUNCTION) {
        Some(function) => format!("{function} ({file})"),
        None => file.to_string(),
    }
}
