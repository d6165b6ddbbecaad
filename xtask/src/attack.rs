//! `cargo xtask attack`: hostile experiments on the command line, its stores, workers and surroundings, and on the simulated driver.
//!
//! An experiment is made of its seed alone, so that one that is lost can be repeated. It survives if every command ends as
//! `judge` demands and no data is lost.

use std::str::FromStr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use self::ground::Ground;
use crate::set_up::Devices;
use crate::shell::say;

mod driver;
mod ground;
mod inputs;
mod judge;
mod kills;
#[path = "../../tests/common/mutate.rs"]
mod mutate;
mod stores;
mod surroundings;
mod workers;

/// An area of attack.
struct Area {
    name: &'static str,
    /// How many parts of the time it gets.
    share: u32,
    experiment: fn(&Ground, &mut Pcg64Mcg) -> anyhow::Result<()>,
}

const AREAS: [Area; 7] = [
    Area { name: "kills", share: 3, experiment: kills::experiment },
    Area { name: "stores", share: 3, experiment: stores::experiment },
    Area { name: "inputs", share: 3, experiment: inputs::experiment },
    Area { name: "variables", share: 2, experiment: surroundings::variable },
    Area { name: "limits", share: 1, experiment: surroundings::limit },
    Area { name: "workers", share: 2, experiment: workers::experiment },
    Area { name: "driver", share: 1, experiment: driver::experiment },
];

/// As many experiments of an area have seeds of their own.
const PER_SEED: u64 = 1_000_000;

/// Arguments of `cargo xtask attack`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
    /// The seed of the experiments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to attack, in seconds.
    #[arg(long, default_value_t = 600)]
    time: u32,
    /// Attack for less than a minute, as CI does for each change.
    #[arg(long, conflicts_with = "time")]
    short: bool,
    /// Only this area.
    #[arg(long, value_parser = AREAS.map(|area| area.name))]
    area: Option<String>,
    /// Repeat one experiment: its area and its seed, such as `stores:1000003`.
    #[arg(long, value_name = "AREA:SEED", conflicts_with_all = ["time", "short", "area"])]
    again: Option<Again>,
}

/// An experiment to repeat.
#[derive(Debug, Clone)]
struct Again {
    area: usize,
    seed: u64,
}

impl FromStr for Again {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(name, seed)| {
            let area = AREAS.iter().position(|area| area.name == name)?;
            Some(Self { area, seed: seed.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("`{text}` is not an area and a seed, such as `stores:1000003`"))
    }
}

/// The experiments of an area.
#[derive(Debug, Default)]
struct Tally {
    begun: u64,
    /// How long they took.
    spent: Duration,
    /// The seeds of those that are lost, and what happened.
    lost: Vec<(u64, String)>,
}

/// Attacks, and prints a table. Returns 2 if an experiment is lost.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let ground = Ground::set_up(args.devices)?;
    if let Some(Again { area, seed }) = args.again {
        AREAS[area].made(&ground, seed)?;
        println!("survived");
        return Ok(0);
    }
    let time = Duration::from_secs(if args.short { 20 } else { args.time.into() });
    let areas: Vec<&Area> = AREAS.iter().filter(|area| args.area.as_deref().is_none_or(|it| it == area.name)).collect();
    let tallies = attacked(&areas, &ground, args.seed, time);
    print!("{}", table(&areas, &tallies));
    Ok(if tallies.iter().all(|tally| tally.lost.is_empty()) { 0 } else { 2 })
}

impl Area {
    /// Makes the experiment with this seed.
    fn made(&self, ground: &Ground, seed: u64) -> anyhow::Result<()> {
        (self.experiment)(ground, &mut Pcg64Mcg::seed_from_u64(seed))
    }
}

/// Makes experiments on all processors until the time is over, at least one in each area. The next is in the area that had the least of
/// its share.
fn attacked(areas: &[&Area], ground: &Ground, seed: u64, time: Duration) -> Vec<Tally> {
    let until = Instant::now() + time;
    let tallies: Mutex<Vec<Tally>> = Mutex::new(areas.iter().map(|_| Tally::default()).collect());
    let next = || {
        let mut tallies = tallies.lock().expect("no panic");
        let had = |at: &usize| (tallies[*at].begun > 0, tallies[*at].spent / areas[*at].share, tallies[*at].begun);
        let at = (0..areas.len()).min_by_key(had)?;
        let number = tallies[at].begun;
        if number > 0 && Instant::now() >= until {
            return None;
        }
        tallies[at].begun += 1;
        Some((at, seed.wrapping_mul(PER_SEED).wrapping_add(number)))
    };
    let work = || {
        while let Some((at, seed)) = next() {
            let began = Instant::now();
            let made = areas[at].made(ground, seed);
            let mut tallies = tallies.lock().expect("no panic");
            tallies[at].spent += began.elapsed();
            if let Err(problem) = made {
                say(&format!("lost {}:{seed}: {problem:#}", areas[at].name));
                tallies[at].lost.push((seed, format!("{problem:#}")));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    tallies.into_inner().expect("no panic")
}

/// The tallies as a table, and how to repeat what is lost.
fn table(areas: &[&Area], tallies: &[Tally]) -> String {
    let mut text = String::from("| area | experiments | survived | lost |\n|---|---|---|---|\n");
    for (Area { name, .. }, Tally { begun, lost, .. }) in areas.iter().zip(tallies) {
        text += &format!("| {name} | {begun} | {} | {} |\n", begun - lost.len() as u64, lost.len());
    }
    for (Area { name, .. }, tally) in areas.iter().zip(tallies) {
        for (seed, problem) in &tally.lost {
            text += &format!("\ncargo xtask attack --again {name}:{seed}\n  {problem}\n");
        }
    }
    text
}

/// Reads a file, and names it if that fails.
fn read(path: &std::path::Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_attacked_in_time_and_each_lost_experiment_has_its_seed() {
        let odd_is_lost = |_: &Ground, rng: &mut Pcg64Mcg| {
            std::thread::sleep(Duration::from_millis(1));
            let drawn = mutate::below(rng, 2);
            anyhow::ensure!(drawn == 0, "odd");
            Ok(())
        };
        let area = Area { name: "test", share: 1, experiment: odd_is_lost };
        let ground = Ground::of("/nowhere".into());
        let other = Area { name: "other", share: 1, experiment: |_, _| Ok(()) };
        let tallies = attacked(&[&area, &other], &ground, 3, Duration::from_millis(500));
        let Tally { begun, lost, .. } = &tallies[0];
        assert!(*begun > 10 && !lost.is_empty() && (lost.len() as u64) < *begun, "{tallies:?}");
        assert!(tallies[1].begun > 0 && tallies[1].lost.is_empty(), "{tallies:?}");
        for (seed, _) in lost {
            assert!((3 * PER_SEED..4 * PER_SEED).contains(seed) && area.made(&ground, *seed).is_err());
        }
    }

    #[test]
    fn the_table_names_what_is_lost_and_how_to_repeat_it() {
        let lost = vec![(1_000_003, "panicked".to_string())];
        let tallies = [Tally { begun: 2, ..Tally::default() }, Tally { begun: 9, lost, ..Tally::default() }];
        let shown = table(&[&AREAS[0], &AREAS[1]], &tallies);
        assert!(shown.contains("| kills | 2 | 2 | 0 |\n| stores | 9 | 8 | 1 |\n"), "{shown}");
        assert!(shown.contains("cargo xtask attack --again stores:1000003\n  panicked\n"), "{shown}");
        assert!("stores:1000003".parse::<Again>().is_ok() && "nothing:1".parse::<Again>().is_err());
    }
}
