//! Campaigns over time: their speed, first findings and kernel coverage.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::Campaign;
use super::coverage::in_crates;
use crate::coverage::{Coverage, Reached};
use crate::report::summary;

/// The page.
#[derive(Debug, Serialize)]
pub struct Trends {
    rows: Vec<Row>,
    plots: Vec<Plot>,
}

/// One campaign.
#[derive(Debug, Serialize)]
struct Row {
    begun: String,
    what: String,
    devices: String,
    cases: u64,
    seconds: f64,
    rate: f64,
    new: usize,
    edges: usize,
    edges_so_far: usize,
    all_edges: usize,
}

/// A bar for each campaign, and optionally a line for the running total.
#[derive(Debug, Serialize)]
struct Plot {
    title: &'static str,
    /// The values of the grid lines, from the top, in at most four characters.
    grid: [String; 3],
    bars: Vec<Bar>,
    line: String,
}

/// A bar in the units of the SVG.
#[derive(Debug, Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    label: String,
}

/// Width and height of a plot's field.
const FIELD: (f64, f64) = (640.0, 140.0);

/// The page of `campaigns`.
pub fn page(campaigns: &[Campaign]) -> Trends {
    let (mut seen, mut total) = (BTreeSet::new(), Coverage::default());
    let rows: Vec<Row> = campaigns.iter().map(|campaign| row(campaign, &mut seen, &mut total)).collect();
    let plots = vec![
        plot("Cases per second", &rows, |row| row.rate, None),
        plot("Signatures first seen", &rows, |row| row.new as f64, None),
        plot("Branch edges taken", &rows, |row| row.edges as f64, Some(|row| row.edges_so_far as f64)),
    ];
    Trends { rows, plots }
}

/// The row of a campaign. Adds its signatures to `seen` and its coverage to `total`, which hold those of earlier campaigns.
fn row<'a>(campaign: &'a Campaign, seen: &mut BTreeSet<&'a str>, total: &mut Coverage) -> Row {
    let record = &campaign.record;
    let new = record.tally.signatures.keys().filter(|name| seen.insert(name)).count();
    total.merge(&in_crates(&campaign.coverage));
    let (own, so_far) = (reached(&campaign.coverage), reached(total));
    let cases = record.tally.total.cases;
    Row {
        begun: campaign.name.split('-').next().and_then(|second| second.parse().ok()).map_or_else(String::new, utc),
        what: summary::description(record),
        devices: record.devices.join(", "),
        cases,
        seconds: record.seconds,
        rate: if record.seconds > 0.0 { cases as f64 / record.seconds } else { 0.0 },
        new,
        edges: own.edges,
        edges_so_far: so_far.edges,
        all_edges: so_far.all_edges,
    }
}

fn reached(coverage: &Coverage) -> Reached {
    let mut sum = Reached::default();
    for kernel in coverage.kernels.values().map(crate::coverage::Kernel::reached) {
        sum.edges += kernel.edges;
        sum.all_edges += kernel.all_edges;
    }
    sum
}

fn plot(title: &'static str, rows: &[Row], of: fn(&Row) -> f64, line: Option<fn(&Row) -> f64>) -> Plot {
    let (width, height) = FIELD;
    let highest = |of: fn(&Row) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    let top = rounded_up(highest(of).max(line.map_or(0.0, highest)));
    let step = width / rows.len().max(1) as f64;
    // A single bar as wide as the plot would look like a background.
    let breadth = (step * 0.8).min(48.0);
    let centre = |index: usize| (index as f64 + 0.5) * step;
    let bar = |(index, row): (usize, &Row)| Bar {
        x: centre(index) - breadth / 2.0,
        y: height - of(row) / top * height,
        width: breadth,
        height: of(row) / top * height,
        label: format!("{} {}: {:.1}", row.begun, row.what, of(row)),
    };
    let point = |(index, row): (usize, &Row), of: fn(&Row) -> f64| {
        format!("{:.1},{:.1}", centre(index), height - of(row) / top * height)
    };
    let points = |of| rows.iter().enumerate().map(|row| point(row, of)).collect::<Vec<_>>().join(" ");
    Plot {
        title,
        grid: [top, top / 2.0, 0.0].map(short),
        bars: rows.iter().enumerate().map(bar).collect(),
        line: line.map_or_else(String::new, points),
    }
}

/// A number as a label: `0.5`, `800`, `1.5k`, `20M`.
fn short(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (size, unit) = units.into_iter().find(|(size, _)| value >= *size).unwrap_or((1.0, ""));
    format!("{}{unit}", value / size)
}

/// The smallest of 1, 2, 4, 6, 8, 10, 20 … that is at least `value`: numbers whose half is easy to read.
fn rounded_up(value: f64) -> f64 {
    let steps = (0..).flat_map(|power| [1.0, 2.0, 4.0, 6.0, 8.0].map(|digit| digit * 10f64.powi(power)));
    steps.take(100).find(|step| *step >= value).unwrap_or(value)
}

/// A second since 1970 as a date and a time of day in UTC; empty beyond the year 9999.
fn utc(second: i64) -> String {
    Timestamp::from_second(second).map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}
