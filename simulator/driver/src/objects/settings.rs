//! Reads the configuration from environment variables.
//!
//! `SNUFFER_SIM_DEVICES` (0 to 8), `_MEMORY` (MiB of each), `_CAPABILITY` (like 9.0), `_SMS` (multiprocessors),
//! `_HELD` (MiB of that which another program holds), `_WEDGE` (a device that stops answering), `_BUDGET` (warp instructions of
//! a launch), `_AFTER_FAULT` (stop or continue),
//! `_ORDERS` (in how many a launch runs), `_CHECKS` (which checkers run), `_JITTER` (a seed by which what the ISA leaves open is decided, with `..` another
//! for each launch), `_PRETEND` (from how many MiB on an allocation is pretended), `_PROBES` (elements of those that the program
//! reads), `_MUTATE` (a change to a kernel), `_DELIVERY` (of faults: late, next, immediate), `_FAIL` (a call that fails),
//! `_KERNELS` (a folder of PTX in place of the program's). `_COVERAGE`, `_REPORTS`, `_TIME` and `_TRACE` name files: see
//! `coverage.rs`, `report.rs`, `device_time.rs` and `trace.rs`.

pub mod inject;
pub mod visible;
pub mod wedge;

use crate::objects::modules::module_overrides::{self, ModuleOverride};
use crate::objects::settings::inject::Injection;
use crate::objects::settings::visible::visible;
use crate::objects::settings::wedge::Wedge;
use simulator::{Checks, Config};
use std::path::Path;
use std::str::FromStr;

/// When the fault of a kernel reaches the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// By the first call that waits for the device, as on hardware.
    Late,
    /// By the call after the launch.
    Next,
    /// By the launch itself.
    Immediate,
}

/// The configuration in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub config: Config,
    pub delivery: Delivery,
    pub injection: Option<Injection>,
    /// The devices that the program sees, by their number in the machine.
    pub visible: Vec<usize>,
    /// Memory of each device that another program holds, in bytes. The configuration's memory is the rest.
    pub held: u64,
    pub wedge: Option<Wedge>,
    /// What is loaded in place of the program's own modules.
    pub overrides: Vec<ModuleOverride>,
}

impl Settings {
    /// The settings of a machine whose devices are all seen.
    pub fn of(config: Config, delivery: Delivery) -> Self {
        let visible = (0..config.devices).collect();
        Self { config, delivery, injection: None, visible, held: 0, wedge: None, overrides: Vec::new() }
    }
}

/// The variables of the environment, which a function looks up.
struct Variables<R>(R);

impl<R: Fn(&str) -> Option<String>> Variables<R> {
    /// What `parse` makes of a variable that is set, or what is wrong with it.
    fn get<T>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
        let Some(text) = (self.0)(name) else { return Ok(None) };
        parse(&text).map(Some).map_err(|why| format!("{name}={text}: {why}"))
    }

    fn number(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
        self.get(name, |text| match u64::from_str(text) {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            _ if most == u64::MAX => Err(format!("must be a number from {least}")),
            _ => Err(format!("must be a number from {least} to {most}")),
        })
    }

    /// A number of mebibytes up to a tebibyte, in bytes.
    fn mebibytes(&self, name: &str, least: u64) -> Result<Option<u64>, String> {
        Ok(self.number(name, least, 1 << 20)?.map(|mebibytes| mebibytes << 20))
    }
}

/// The settings in the variables `SNUFFER_SIM_*`, which `read` looks up, or what is wrong with them.
pub fn settings(read: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
    let (default, of) = (Config::default(), Variables(read));
    let installed = of.number("SNUFFER_SIM_DEVICES", 0, 8)?.map_or(default.devices, |count| count as usize);
    let visible = of.get("CUDA_VISIBLE_DEVICES", |list| Ok(visible(list, installed)))?;
    let visible = visible.unwrap_or_else(|| (0..installed).collect());
    let memory = of.mebibytes("SNUFFER_SIM_MEMORY", 1)?.unwrap_or(default.memory);
    let held = of.mebibytes("SNUFFER_SIM_HELD", 0)?.unwrap_or(0).min(memory);
    let (jitter, jitter_varies) = of.get("SNUFFER_SIM_JITTER", jitter)?.unzip();
    let hardware = of.number("SNUFFER_SIM_HARDWARE", 0, 1)?.is_some_and(|one| one == 1);
    let config = Config {
        devices: visible.len(),
        memory: memory - held,
        capability: of.get("SNUFFER_SIM_CAPABILITY", capability)?.unwrap_or(default.capability),
        multiprocessors: of
            .number("SNUFFER_SIM_SMS", 1, 1 << 16)?
            .map_or(default.multiprocessors, |count| count as u32),
        budget: of.number("SNUFFER_SIM_BUDGET", 1, u64::MAX)?.unwrap_or(default.budget),
        checks: of.get("SNUFFER_SIM_CHECKS", str::parse)?.unwrap_or(if hardware {
            Checks::NONE
        } else {
            default.checks
        }),
        orders: of.number("SNUFFER_SIM_ORDERS", 1, 64)?.unwrap_or(default.orders),
        goes_on: of.get("SNUFFER_SIM_AFTER_FAULT", after_fault)?.unwrap_or(default.goes_on),
        hardware,
        jitter,
        jitter_varies: jitter_varies.unwrap_or(false),
        pretend: of.mebibytes("SNUFFER_SIM_PRETEND", 1)?,
        probes: of.get("SNUFFER_SIM_PROBES", probes)?.unwrap_or_default(),
        mutate: of.get("SNUFFER_SIM_MUTATE", str::parse)?,
    };
    Ok(Settings {
        config,
        delivery: of.get("SNUFFER_SIM_DELIVERY", delivery)?.unwrap_or(Delivery::Late),
        injection: of.get("SNUFFER_SIM_FAIL", str::parse)?,
        visible,
        held,
        wedge: of.get("SNUFFER_SIM_WEDGE", str::parse)?,
        overrides: of
            .get("SNUFFER_SIM_KERNELS", |folder| module_overrides::read(Path::new(folder)))?
            .unwrap_or_default(),
    })
}

/// A seed, and whether each launch has another.
fn jitter(text: &str) -> Result<(u64, bool), String> {
    let (seed, varies) = text.strip_suffix("..").map_or((text, false), |seed| (seed, true));
    let seed = seed.parse().map_err(|_| "must be a number from 0, or such a number and `..`")?;
    Ok((seed, varies))
}

fn delivery(text: &str) -> Result<Delivery, String> {
    match text {
        "late" => Ok(Delivery::Late),
        "next" => Ok(Delivery::Next),
        "immediate" => Ok(Delivery::Immediate),
        _ => Err("must be late, next or immediate".to_string()),
    }
}

fn after_fault(text: &str) -> Result<bool, String> {
    match text {
        "stop" => Ok(false),
        "continue" => Ok(true),
        _ => Err("must be stop or continue".to_string()),
    }
}

fn probes(text: &str) -> Result<Vec<u64>, String> {
    let numbers = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>();
    numbers.ok_or_else(|| "must be numbers with commas between".to_string())
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let digits = || {
        let (major, minor) = text.split_once('.')?;
        let major = major.parse().ok().filter(|major| (1..100).contains(major))?;
        Some((major, minor.parse().ok().filter(|&minor| minor < 10)?))
    };
    digits().ok_or_else(|| "must be like 9.0".to_string())
}

#[cfg(test)]
mod tests {
    use super::{Config, Delivery, Settings, settings};
    use simulator::Choice;

    fn with(name: &str, value: &str) -> Result<Settings, String> {
        settings(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn without_variables_the_defaults_hold() {
        let defaults = Settings::of(Config::default(), Delivery::Late);
        assert_eq!(settings(|_| None), Ok(defaults));
    }

    #[test]
    fn each_variable_sets_its_own_property() {
        assert_eq!(with("SNUFFER_SIM_DEVICES", "0").unwrap().config.devices, 0);
        assert_eq!(with("SNUFFER_SIM_MEMORY", "3").unwrap().config.memory, 3 << 20);
        assert_eq!(with("SNUFFER_SIM_CAPABILITY", "8.6").unwrap().config.capability, (8, 6));
        assert_eq!(with("SNUFFER_SIM_SMS", "300").unwrap().config.multiprocessors, 300);
        assert_eq!(with("SNUFFER_SIM_MUTATE", "uadd_f32:7").unwrap().config.mutate.unwrap().choice, Choice::Seed(7));
        assert_eq!(with("SNUFFER_SIM_JITTER", "5").unwrap().config.jitter, Some(5));
        assert!(with("SNUFFER_SIM_JITTER", "5..").unwrap().config.jitter_varies);
        assert_eq!(with("SNUFFER_SIM_PRETEND", "3").unwrap().config.pretend, Some(3 << 20));
        assert_eq!(with("SNUFFER_SIM_PROBES", "0,4294967296").unwrap().config.probes, [0, 1 << 32]);
        assert!(with("SNUFFER_SIM_AFTER_FAULT", "continue").unwrap().config.goes_on);
        assert_eq!(with("SNUFFER_SIM_ORDERS", "4").unwrap().config.orders, 4);
        assert!(!with("SNUFFER_SIM_CHECKS", "initialization,races").unwrap().config.checks.loops);
        assert_eq!(with("SNUFFER_SIM_DELIVERY", "immediate").unwrap().delivery, Delivery::Immediate);
        assert_eq!(with("SNUFFER_SIM_FAIL", "allocation:3").unwrap().injection.unwrap().code, 2);
        let held = with("SNUFFER_SIM_HELD", "48").unwrap();
        assert_eq!((held.held, held.config.memory), (48 << 20, 2000 << 20));
        assert!(with("SNUFFER_SIM_WEDGE", "1:40:/tmp/launches").unwrap().wedge.is_some());
        assert_eq!(with("CUDA_VISIBLE_DEVICES", "7").unwrap().config.devices, 0);
    }

    #[test]
    fn a_malformed_value_is_named() {
        for (name, value) in [
            ("SNUFFER_SIM_DEVICES", "9"),
            ("SNUFFER_SIM_MEMORY", "2GiB"),
            ("SNUFFER_SIM_CAPABILITY", "90"),
            ("SNUFFER_SIM_BUDGET", "0"),
            ("SNUFFER_SIM_AFTER_FAULT", "ignore"),
            ("SNUFFER_SIM_ORDERS", "0"),
            ("SNUFFER_SIM_CHECKS", "races,bounds"),
            ("SNUFFER_SIM_JITTER", "some"),
            ("SNUFFER_SIM_MUTATE", "uadd_f32"),
            ("SNUFFER_SIM_PRETEND", "0"),
            ("SNUFFER_SIM_PROBES", "1,last"),
            ("SNUFFER_SIM_DELIVERY", "soon"),
            ("SNUFFER_SIM_FAIL", "sometimes"),
            ("SNUFFER_SIM_HELD", "all"),
            ("SNUFFER_SIM_KERNELS", "/no/such/folder"),
            ("SNUFFER_SIM_WEDGE", "0:1"),
            ("SNUFFER_SIM_WEDGE", "0:0:/tmp/launches"),
        ] {
            let said = with(name, value).unwrap_err();
            assert!(said.starts_with(&format!("{name}={value}: ")), "{said}");
        }
    }
}
