//! A campaign in a summary: what kind it was, and its line of the table.

use crate::report::markdown::text::inline;
use crate::store::Record;

/// What kind of campaign it was, in words.
pub fn description(record: &Record) -> String {
    match (record.imported, record.shard.as_str()) {
        (true, _) => "imported cases".to_string(),
        (false, "") => format!("hunt, seed {}", record.seed),
        (false, shard) => format!("hunt, seed {}, shard {shard}", record.seed),
    }
}

/// A campaign in the table.
pub fn row(record: &Record) -> String {
    let description = description(record);
    let total = &record.tally.total;
    let planted = record.tally.canaries.values().fold((0, 0), |(right, all), (r, a)| (right + r, all + a));
    let canaries = match planted {
        (_, 0) => "at the start".to_string(),
        (right, all) => format!("{right} of {all}"),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {canaries} | {:.0} |\n",
        inline(&description),
        inline(&record.devices.join(", ")),
        total.cases,
        total.passed,
        total.partly,
        total.skipped,
        total.failed,
        record.seconds
    )
}
