//! The tests of a device, each in a process of its own: one that does not end costs only itself, and the others are not lost when time
//! runs out.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use wait_timeout::ChildExt;

/// How long one test may take: with a driver that has compiled candle's kernels, the longest takes three minutes.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs the tests of `program` whose names end with `device` and contain one of `names`, until `until`. `equip` prepares a command.
/// Writes a line for each to `output`, and what it printed to a file of its own in `folder`. Returns whether all passed.
pub fn run(
    program: &Path,
    (device, names): (&str, &[&str]),
    folder: &Path,
    output: &mut File,
    until: Instant,
    equip: impl Fn(&mut Command) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<bool> {
    fs::create_dir_all(folder)?;
    let mut list = Command::new(program);
    equip(&mut list)?;
    let listed = list.arg("--list").output().with_context(|| format!("cannot run {}", program.display()))?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let ours = |name: &&str| name.ends_with(&format!("::{device}")) && names.iter().any(|part| name.contains(part));
    let mut tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).filter(ours).collect();
    ensure!(!tests.is_empty(), "{} has no test of {device}", program.display());
    tests.reverse();
    let (count, tests) = (tests.len(), Mutex::new(tests));
    let lines = Mutex::new((output, 0));
    let work = || -> anyhow::Result<()> {
        loop {
            let Some(name) = tests.lock().expect("no panic").pop() else { return Ok(()) };
            let left = until.saturating_duration_since(Instant::now()).min(LIMIT);
            let (said, begun) =
                (File::create(folder.join(name.replace(':', "_")).with_extension("txt"))?, Instant::now());
            let mut command = Command::new(program);
            equip(&mut command)?;
            command.args(["--exact", name]).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
            let word = if left.is_zero() { "not run" } else { outcome(&mut command, left)? };
            let mut lines = lines.lock().expect("no panic");
            writeln!(lines.0, "{word:<12} {:>4} s  {name}", begun.elapsed().as_secs())?;
            lines.1 += usize::from(word == PASSED);
        }
    };
    // The GPU is shared, and each test has workers of its own.
    let threads = (available_parallelism()?.get() * 3 / 4).max(1);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(lines.into_inner().expect("no panic").1 == count)
}

const PASSED: &str = "passed";

/// What becomes of a test that may take so long.
fn outcome(command: &mut Command, left: Duration) -> anyhow::Result<&'static str> {
    let mut child = command.spawn()?;
    Ok(match child.wait_timeout(left)? {
        Some(status) if status.success() => PASSED,
        Some(_) => "FAILED",
        None => {
            child.kill()?;
            child.wait()?;
            "NOT ENDED"
        }
    })
}
