//! Shared by the targets: the counters that libFuzzer watches besides the compiler's own, and one session per process.
//!
//! Variables of the environment:
//!
//! - `SNUFFER_DEVICES`: the devices, as for `snuffer hunt`.
//! - `SNUFFER_FINDINGS`: a store of findings to skip. Regressions in the folder `regressions` next to the executable, and
//!   calls like those in `fatal` there, are skipped too.
//! - `SNUFFER_FUZZ_ARTIFACTS`: a folder for new failing cases.
//! - `SNUFFER_FUZZ_FATAL`: a folder of cases that ended earlier runs. Calls like them are skipped for some days.
//! - `SNUFFER_FUZZ_OPS`: a pattern of the ops of single calls, such as `loss.*`.
//! - `SNUFFER_FUZZ_SEEDS`: a folder. The process writes the target's seeds there, and ends.
//! - `SNUFFER_FUZZ_WITHOUT`: for comparisons, a list of what to turn off: `counters` (device coverage), `cells` (ops by
//!   outcome), and `mutator` (then libFuzzer mutates the text).

pub mod foreign;

use std::env;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr::addr_of_mut;
use std::slice;
use std::sync::Mutex;
use std::time::SystemTime;

use libfuzzer_sys::Corpus;
use snuffer::case::Case;
use snuffer::device::Device;
#[cfg(feature = "cuda")]
use snuffer::fuzz::watch_device;
use snuffer::fuzz::{End, Executed, Known, Session, Target, restrict};
use snuffer::run::{install_panic_hook, last_panic};
use snuffer::store::{Store, regression};

/// The number of counters for pairs of an op and an outcome, hashed.
const CELLS: usize = 1 << 13;

// libFuzzer finds these by the name of their section, reads them after each input, and clears them before the next.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static mut CELL_COUNTERS: [u8; CELLS] = [0; CELLS];

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn without(what: &str) -> bool {
    env::var("SNUFFER_FUZZ_WITHOUT").is_ok_and(|list| list.split(',').any(|word| word == what))
}

/// Writes the seeds of `targets` and ends the process, if the environment asks for that.
pub fn draw_seeds(targets: &[Target]) {
    let Some(folder) = env::var_os("SNUFFER_FUZZ_SEEDS").map(PathBuf::from) else { return };
    let written = restricted().and_then(|()| {
        std::fs::create_dir_all(&folder)?;
        for (number, case) in targets.iter().flat_map(|target| target.seeds()).enumerate() {
            std::fs::write(folder.join(format!("{number:03}-{}.toml", case.op)), case.to_text())?;
        }
        Ok(())
    });
    if let Err(problem) = &written {
        eprintln!("fuzz: no seeds in {}: {problem:#}", folder.display());
    }
    std::process::exit(i32::from(written.is_err()));
}

/// Restricts single calls to the ops that the environment names.
fn restricted() -> anyhow::Result<()> {
    env::var("SNUFFER_FUZZ_OPS").map_or(Ok(()), |glob| restrict(&glob))
}

/// Opens the devices, or ends the process with a one-line error.
pub fn start(target: Target, name: &str) {
    draw_seeds(&[target]);
    // SAFETY: libFuzzer calls this before it starts any thread.
    unsafe {
        env::set_var("RAYON_NUM_THREADS", "1");
        env::set_var("CANDLE_GRAD_DO_NOT_DETACH", "1");
    }
    // Replaces libFuzzer's hook, which aborts: candle's panics are caught and judged.
    install_panic_hook();
    match session(target, name) {
        Ok(session) => *SESSION.lock().expect("no thread panics with it") = Some(session),
        Err(problem) => {
            eprintln!("fuzz: {problem}");
            std::process::exit(1);
        }
    }
}

fn session(target: Target, name: &str) -> Result<Session, String> {
    let listed = env::var("SNUFFER_DEVICES").unwrap_or_else(|_| "cpu".to_string());
    let devices =
        listed.split(',').map(str::parse).collect::<Result<Vec<Device>, _>>().map_err(|error| error.to_string())?;
    let folder = env::var_os("SNUFFER_FUZZ_ARTIFACTS").map_or_else(|| env::temp_dir().join(name), PathBuf::from);
    // SAFETY: only the session writes to the cells, and libFuzzer reads them between inputs.
    let cells = unsafe { slice::from_raw_parts_mut(addr_of_mut!(CELL_COUNTERS).cast(), CELLS) };
    let cells = if without("cells") { &mut [] } else { cells };
    #[cfg(feature = "cuda")]
    if devices.iter().any(|device| matches!(device, Device::Sim(_))) && !without("counters") {
        watch_device().map_err(|error| format!("{error:#}"))?;
    }
    restricted().map_err(|error| format!("{error:#}"))?;
    let known = known(&folder).map_err(|error| format!("{error:#}"))?;
    eprintln!(
        "fuzz: {name} on {listed}, skipping {} known findings, new ones go to {}",
        known.count(),
        folder.display()
    );
    for (fatal, _) in known.fatal() {
        eprintln!("fuzz: stepping over calls like one that ended the process: {fatal}");
    }
    // SAFETY: the function is never unloaded.
    unsafe { atexit(say_what_was_skipped) };
    Session::start(target, &devices, known, folder, cells).map_err(|error| format!("{error:#}"))
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// Says what the session did not run. libFuzzer ends the process by `exit` when its time is over.
extern "C" fn say_what_was_skipped() {
    let Ok(session) = SESSION.try_lock() else { return };
    let Some(session) = session.as_ref() else { return };
    for (fatal, count) in session.known().fatal().filter(|(_, count)| *count > 0) {
        eprintln!("fuzz: stepped over {count} calls like {fatal}");
    }
}

fn known(artifacts: &Path) -> anyhow::Result<Known> {
    let mut known = Known::default();
    if let Some(store) = env::var_os("SNUFFER_FINDINGS") {
        let findings = Store::open(Path::new(&store))?.all()?;
        findings.iter().filter_map(|(_, finding)| finding.as_ref().ok()).for_each(|finding| known.add(finding));
    }
    // Fuzzing engines get both folders next to the executable.
    let executable = env::current_exe()?;
    let regressions = executable.with_file_name("regressions");
    if regressions.is_dir() {
        let signatures = regression::read(&regressions)?.into_iter().filter_map(|(_, regression)| regression.signature);
        signatures.for_each(|signature| known.add_slug(signature.slug()));
    }
    for text in texts(&executable.with_file_name("fatal"))? {
        known.add_fatal(&Case::parse(&text).map_err(anyhow::Error::msg)?, End::Kept);
    }
    let now = SystemTime::now();
    known.add_artifacts(artifacts, now)?;
    if let Some(fatal) = env::var_os("SNUFFER_FUZZ_FATAL") {
        known.add_artifacts(Path::new(&fatal), now)?;
    }
    Ok(known)
}

/// The contents of the files in `folder`; empty if there is no such folder.
fn texts(folder: &Path) -> std::io::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    std::fs::read_dir(folder)?.map(|entry| std::fs::read_to_string(entry?.path())).collect()
}

/// Runs the case in `bytes`. Inputs that do not parse are rejected.
pub fn execute(bytes: &[u8]) -> Corpus {
    let mut session = SESSION.lock().expect("no thread panics with it");
    let session = session.as_mut().expect("started");
    let Ok(executed) = catch_unwind(AssertUnwindSafe(|| session.execute(bytes))) else {
        let (location, message) = last_panic();
        eprintln!("fuzz: this suite, not candle, panicked at {location}: {message}");
        std::process::abort();
    };
    match executed {
        Ok(Executed::Refused) => Corpus::Reject,
        Ok(Executed::New(signature)) => {
            eprintln!("fuzz: NEW {signature}");
            if cfg!(feature = "abort") {
                std::process::abort();
            }
            Corpus::Keep
        }
        Ok(Executed::Fine | Executed::Known) => Corpus::Keep,
        Err(problem) => {
            eprintln!("fuzz: {problem:#}");
            std::process::abort();
        }
    }
}

/// Changes the case in `data[..size]`.
pub fn mutate(target: Target, data: &mut [u8], size: usize, room: usize, seed: u32) -> usize {
    if without("mutator") {
        return libfuzzer_sys::fuzzer_mutate(data, size, room);
    }
    put(data, &target.mutated(&data[..size], seed, room))
}

/// Writes a case with parts of two others into `out`.
pub fn cross(target: Target, one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let room = out.len();
    put(out, &target.crossed(one, other, seed, room))
}

fn put(to: &mut [u8], text: &[u8]) -> usize {
    to[..text.len()].copy_from_slice(text);
    text.len()
}

/// A target whose input is a case.
#[macro_export]
macro_rules! case_target {
    ($target:expr, $name:literal) => {
        libfuzzer_sys::fuzz_target!(init: $crate::start($target, $name), |bytes: &[u8]| -> libfuzzer_sys::Corpus {
            $crate::execute(bytes)
        });
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate($target, data, size, max_size, seed)
        });
        libfuzzer_sys::fuzz_crossover!(|data1: &[u8], data2: &[u8], out: &mut [u8], seed: u32| {
            $crate::cross($target, data1, data2, out, seed)
        });
    };
}
