//! The functions of candle's sources by line: signatures name the function of a failure, which the next release most likely still
//! has. A line number changes with every edit above it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::outcome::{self, Place};

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

    /// Notes in `place` the function around its line, if this has the file: the lines of another candle are not those of the
    /// release under test.
    pub fn locate(&self, place: &mut Place) {
        if let Place::Line { file, line, function } = place
            && self.0.contains_key(file.as_str())
        {
            let name = self.at(file, *line).map(ToString::to_string);
            *function = name.map_or(outcome::Function::Outside, outcome::Function::Named);
        }
    }

    /// The function of the release under test around a line of a file.
    pub fn tested(file: &str, line: u32) -> Option<&'static str> {
        TESTED.at(file, line)
    }
}
