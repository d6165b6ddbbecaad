//! Signals to workers while they work: no case is charged with what somebody else did.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::ensure;
use rand_pcg::Pcg64Mcg;
use rustix::process::{Pid, Signal, kill_process};

use super::ground::{DEADLINE, Ground, listed};
use super::judge::start;
use super::mutate::below;

/// A case that takes a moment and passes: a product of two matrices.
const SLOW: &str = "op = \"tensor.matmul\"\n\
    [inputs.x]\ndtype = \"f32\"\nshape = [400, 400]\nvalues = { fill = { constant = 0.0, noise = 1 } }\n\
    [inputs.rhs]\ndtype = \"f32\"\nshape = [400, 400]\nvalues = { fill = { constant = 0.0, noise = 2 } }\n";

/// Disturbs the workers of a hunt or a replay.
pub fn experiment(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    if below(rng, 2) == 0 { hunt(ground, rng, folder.path()) } else { replay(ground, rng, folder.path()) }
}

/// No finding says that a worker died or hung: the ops of this hunt never do so.
fn hunt(ground: &Ground, rng: &mut Pcg64Mcg, folder: &Path) -> anyhow::Result<()> {
    let args = ["hunt", "--store", "store", "--device", "cpu", "--ops", "loss.mse,tensor.exp", "--cases", "1000"];
    let mut running = start(&mut ground.command(folder, &[&args[..], &["--minimize", "300ms"]].concat()))?;
    let signals = [Signal::KILL, Signal::SEGV, Signal::TERM, Signal::ABORT, Signal::STOP];
    for _ in 0..=below(rng, 8) {
        sleep(Duration::from_millis(below(rng, 800) as u64));
        let workers = children(running.child.id());
        if workers.is_empty() || running.child.try_wait()?.is_some() {
            continue;
        }
        disturb(workers[below(rng, workers.len())], signals[below(rng, signals.len())], 300);
    }
    let ended = running.end(DEADLINE)?.survived(&[0, 2, 3, 4, 5])?;
    if ended.code() != Some(4) {
        let found = listed(&ground.list(folder)?)?;
        let wrong: Vec<_> =
            found.iter().filter(|name| name.contains("--died--") || name.contains("--hang--")).collect();
        ensure!(wrong.is_empty(), "charged to a case: {wrong:?}");
    }
    Ok(())
}

/// A case that passes does so, or the reason is said.
fn replay(ground: &Ground, rng: &mut Pcg64Mcg, folder: &Path) -> anyhow::Result<()> {
    std::fs::write(folder.join("case.toml"), SLOW)?;
    let args = ["replay", "case.toml", "--device", "cpu", "--timeout", "1s"];
    let mut running = start(&mut ground.command(folder, &args))?;
    let pause = 500 * below(rng, 20) as u64;
    sleep(Duration::from_millis(below(rng, 1500) as u64));
    let signal = [Signal::KILL, Signal::STOP][below(rng, 2)];
    // Once: of what waits twice, nobody knows that it would end.
    if running.child.try_wait()?.is_none() {
        for worker in children(running.child.id()) {
            disturb(worker, signal, pause);
        }
    }
    running.end(DEADLINE)?.survived(&[0, 3, 5]).map(drop)
}

/// Sends a signal; a process that was stopped goes on after a pause in milliseconds. One that has ended gets none.
fn disturb(process: Pid, signal: Signal, pause: u64) {
    let _ = kill_process(process, signal);
    if signal == Signal::STOP {
        sleep(Duration::from_millis(pause));
        let _ = kill_process(process, Signal::CONT);
    }
}

/// The processes that this one started.
fn children(process: u32) -> Vec<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let all = lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>());
    all.filter_map(Pid::from_raw).collect()
}
