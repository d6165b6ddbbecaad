//! Arguments that several commands share, and mistakes in them.

mod candle;
mod filter;
mod format;
mod kernels;
mod known;
mod pattern;
mod sanitizer;
mod store;

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use crate::device::{Device, Selection};
use crate::exec::gpu_count::gpus;
use crate::exec::{Limits, WorkerSpec, default_devices};

pub use candle::{CandleArg, candle_under_test, check_lacking, present};
pub use filter::{Chosen, ChosenFindings};
pub use format::{Format, FormatArg};
pub use kernels::KernelsArg;
pub use known::KnownArg;
pub use pattern::Pattern;
pub use sanitizer::{SanitizerArg, usable};
pub use store::{StoreArg, check_release, existing, is_file};

/// A mistake of the user, as opposed to a failure of the harness.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The MiB that [`Common::memory`] can be: as many as there are addresses.
const MEMORY: RangeInclusive<u64> = 1..=u64::MAX >> 20;

/// The devices of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct DevicesArg {
    /// Device to run on: `cpu`, `cuda:0` or `sim:0`; repeatable. `cuda` is all GPUs that the driver shows; a campaign spreads
    /// its workers over them. By default `cpu` and the first GPU, or the simulated device on machines without a GPU.
    #[arg(long = "device", alias = "devices", env = "SNUFFER_DEVICES", value_delimiter = ',')]
    pub devices: Vec<Selection>,
}

impl DevicesArg {
    /// The devices that were named, or else the default ones.
    pub fn all(&self) -> anyhow::Result<Vec<Device>> {
        if self.devices.is_empty() { Ok(default_devices()) } else { self.named() }
    }

    /// The devices that were named, each once.
    pub fn named(&self) -> anyhow::Result<Vec<Device>> {
        let mut named = Vec::new();
        for selection in &self.devices {
            let devices = match *selection {
                Selection::One(device) => vec![device],
                Selection::AllGpus => gpus()?,
            };
            let new: Vec<Device> = devices.into_iter().filter(|device| !named.contains(device)).collect();
            named.extend(new);
        }
        Ok(named)
    }

    /// Whether a case runs on one of the GPUs instead of on all: they were not named one by one.
    pub fn spread(&self) -> bool {
        self.devices.contains(&Selection::AllGpus)
    }
}

/// Options that several commands share.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Devices and workers")]
pub struct Common {
    #[command(flatten)]
    pub devices: DevicesArg,
    /// Time limit of one case, such as `5s` or `500ms`.
    #[arg(long, default_value = "5s", value_parser = duration)]
    timeout: Duration,
    /// Memory of one worker, in MiB: its address space, and on GPUs its private memory.
    #[arg(long, default_value_t = 4096, value_parser = clap::builder::RangedU64ValueParser::<u64>::new().range(MEMORY))]
    memory: u64,
    /// Memory that must be free on a GPU for each of its workers, in MiB.
    #[arg(long, default_value_t = 768)]
    gpu_memory: u64,
    /// Time limit for a new worker to open its device and run a kernel. After that the device is lost.
    #[arg(long = "open-timeout", default_value = "60s", value_parser = duration)]
    opening: Duration,
}

impl Common {
    pub fn devices(&self) -> anyhow::Result<Vec<Device>> {
        self.devices.all()
    }

    /// The workers, with the release under test.
    pub fn spec(&self) -> WorkerSpec {
        let Self { timeout, memory, gpu_memory, opening, .. } = *self;
        WorkerSpec {
            limits: Limits { deadline: timeout, opening, memory_mib: memory, gpu_memory_mib: gpu_memory },
            ..WorkerSpec::default()
        }
    }
}

/// The parallelism of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct JobsArg {
    /// Workers per device; the GPUs of `--device cuda` share them. By default one per core, and on GPUs at most four each.
    #[arg(long, value_parser = clap::builder::RangedU64ValueParser::<u16>::new().range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArg {
    /// How many workers `devices` have, where a case runs on one of their GPUs if they are `spread`.
    pub fn number(&self, devices: &[Device], spread: bool) -> usize {
        /// The processes of a GPU take turns on it, so more of them only wait for each other.
        const PER_GPU: usize = 4;
        let gpus = devices.iter().filter(|device| device.is_gpu()).count();
        let most = match gpus {
            0 => usize::MAX,
            _ if spread => PER_GPU * gpus,
            _ => PER_GPU,
        };
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(|| cores().min(most), usize::from)
    }
}

/// A duration on the command line: `90s`, `5m`, `1h`, `250ms`; a plain number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    /// A hundred years: clocks overflow at durations that are absurdly long.
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let unit = if is_plain { "s" } else { "" };
    let parsed = humantime::parse_duration(&format!("{text}{unit}")).ok();
    parsed
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| "write a time of at most 100 years, such as `90s`, `5m` or `250ms`".to_string())
}

/// The largest file that is read: far larger than any case.
const LARGEST: u64 = 256 << 20;

/// The text in `path`. `-` is standard input.
pub fn text(path: &Path) -> Result<String, UsageError> {
    let read = || -> io::Result<String> {
        let file: Box<dyn Read> =
            if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
        let mut text = String::new();
        // A device such as `/dev/zero` may never end.
        if file.take(LARGEST + 1).read_to_string(&mut text)? as u64 > LARGEST {
            return Err(io::Error::other(format!("it has more than {} MiB", LARGEST >> 20)));
        }
        Ok(text)
    };
    read().map_err(|error| UsageError(format!("cannot read {}: {error}", path.display())))
}
