//! `snuffer hunt --kernels DIR --watch`: hunts again whenever a kernel is saved.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::cli::interrupts::Interrupts;
use crate::exit_code::Exit;
use crate::kernels::{Unusable, folder, stamps};

/// How often the files are looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Calls `hunt` with a flag that is set at the next save, or at an interrupt; then again, until it is. Kernels that do not
/// compile are shown, and the next save is waited for. Returns how the last hunt ended.
pub fn run(
    named: &Path,
    interrupts: &Interrupts,
    hunt: impl Fn(&AtomicBool) -> anyhow::Result<Exit>,
) -> anyhow::Result<Exit> {
    let folder = folder(named)?;
    let is_interrupted = || interrupts.came().load(Ordering::Relaxed);
    let mut exit = Exit::Clean;
    while !is_interrupted() {
        let before = stamps(&folder);
        let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if is_interrupted() || stamps(&folder) != before {
                        stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::sleep(PAUSE);
                }
            });
            let ended = hunt(&stop);
            done.store(true, Ordering::Relaxed);
            ended
        });
        exit = match ended {
            Err(error) if error.is::<Unusable>() => {
                eprintln!("snuffer: {error}");
                Exit::Usage
            }
            ended => ended?,
        };
        // An interrupt ends the wait as one ends a hunt: with what the last hunt came to.
        let _in_order = interrupts.in_order();
        if !is_interrupted() && stamps(&folder) == before {
            eprintln!("waiting for the next save in {}", folder.display());
        }
        while !is_interrupted() && stamps(&folder) == before {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(exit)
}
