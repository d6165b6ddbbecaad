//! Measurements that a change must not make worse: `cargo xtask measure NAME`. Each takes many minutes, so no test runs it.

mod dedup;
mod minimizer;

fn main() -> anyhow::Result<()> {
    if dedup::is_planted() {
        return dedup::in_this_process();
    }
    // Cargo adds a flag of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    match words.split_first() {
        Some((name, words)) if name == "dedup" => dedup::measure(words),
        Some((name, words)) if name == "minimizer" => minimizer::measure(words.first().map(String::as_str)),
        _ => anyhow::bail!("name what to measure: dedup or minimizer"),
    }
}
