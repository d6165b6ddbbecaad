//! The time that a GPU's driver takes to compile a module when it is loaded for the first time. It keeps the result for the user, in
//! the folder `CUDA_CACHE_PATH` (CUDA C++ Programming Guide, "CUDA environment variables").

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, thread};

/// The compile time of candle's modules on an H200 with driver 580.159.04: in proportion to their size, up to that of the largest.
const FOR_EACH_MEGABYTE: Duration = Duration::from_millis(2500);
const LONGEST: Duration = Duration::from_secs(8);

/// Passes the time, unless the result is kept.
pub fn pass(ptx: &str) {
    let kept = kept(ptx);
    if kept.as_ref().is_some_and(|file| file.exists()) {
        return;
    }
    thread::sleep(FOR_EACH_MEGABYTE.mul_f64(ptx.len() as f64 / 1e6).min(LONGEST));
    // Without it the next process waits again, as with a driver that cannot write.
    if let Some(file) = kept
        && let Some(folder) = file.parent()
    {
        let _ = fs::create_dir_all(folder).and_then(|()| fs::write(&file, []));
    }
}

/// The file that says that a module was compiled.
fn kept(ptx: &str) -> Option<PathBuf> {
    if env::var_os("CUDA_CACHE_DISABLE").is_some_and(|is| is == "1") {
        return None;
    }
    let folder =
        env::var_os("CUDA_CACHE_PATH").map_or_else(|| env::temp_dir().join("snuffer-sim-cache"), PathBuf::from);
    let mut hasher = DefaultHasher::new();
    ptx.hash(&mut hasher);
    Some(folder.join(format!("snuffer-sim-{:016x}", hasher.finish())))
}
