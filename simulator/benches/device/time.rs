//! The processor time of this thread, which does not count what else the machine does.

use rustix::time::{ClockId, clock_gettime};

/// It, in microseconds.
pub fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The median, and how far the middle half is spread around it.
pub fn median(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |part: usize| values[(values.len() - 1) * part / 4];
    (at(2), (at(3) - at(1)) / 2.0)
}
