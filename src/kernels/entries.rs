//! The kernels that PTX declares, and what they take.

use std::collections::BTreeMap;

use super::Unusable;
use crate::CANDLE;

/// The types of the parameters of each kernel, by its name.
pub type Entries = BTreeMap<String, Vec<String>>;

/// The kernels in `ptx` as nvcc writes it: a parameter on each line.
pub fn entries(ptx: &str) -> Entries {
    let mut found = Entries::new();
    let mut lines = ptx.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix(".visible .entry ") else { continue };
        let name = name.trim_end_matches(['(', ')']);
        let of_kernel = format!("{name}_param_");
        let params = lines.by_ref().map(str::trim).take_while(|line| line.starts_with(".param"));
        let types = params.map(|param| param.trim_end_matches(',').replace(&of_kernel, "")).collect();
        found.insert(name.to_string(), if line.ends_with("()") { Vec::new() } else { types });
    }
    found
}

/// Refuses kernels that take other parameters than candle's own: the worker passes those of its candle, and a device would read
/// what is behind them.
pub fn refuse_other_parameters(file: &str, own: &Entries, new: &Entries) -> Result<(), Unusable> {
    let differs = |(name, params): &(&String, &Vec<String>)| new.get(*name).is_some_and(|other| other != *params);
    match own.iter().find(differs) {
        None => Ok(()),
        Some((name, _)) => Err(Unusable::OtherParameters(format!(
            "{file}: `{name}` takes different parameters from those that candle {CANDLE} passes; change candle's host \
             code too, and test it with --candle"
        ))),
    }
}
