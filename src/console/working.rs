//! Says that work goes on which may take long: on a terminal a spinner or a bar, elsewhere a line every ten seconds.

use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::stdout::complain;

/// Without a terminal, progress is a line, and this far apart.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Until it is dropped, work goes on.
#[derive(Debug)]
pub struct Working {
    bar: ProgressBar,
    /// Where there is no terminal: what prints lines, and what ends it.
    lines: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Says what goes on, such as `minimizing`.
    pub fn on(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = bar.is_hidden().then(|| {
            let (end, ended) = channel();
            let began = Instant::now();
            let thread = spawn(move || {
                while ended.recv_timeout(BETWEEN_LINES) == Err(RecvTimeoutError::Timeout) {
                    complain(format_args!("{} s: {what}", began.elapsed().as_secs()));
                }
            });
            (end, thread)
        });
        Self { bar, lines }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some((end, thread)) = self.lines.take() {
            drop(end);
            // It only prints.
            let _ = thread.join();
        }
    }
}

/// Spaces out progress lines.
#[derive(Debug)]
pub struct Pace(Mutex<Instant>);

impl Pace {
    /// The first line is due in ten seconds.
    pub fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// True if a line is due. The caller then prints it.
    pub fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let due = last.elapsed() >= BETWEEN_LINES;
        if due {
            *last = Instant::now();
        }
        due
    }
}

/// Progress through `length` items: a bar, or lines. Call it with the name of each finished item.
pub fn bar(length: usize) -> impl Fn(&str) + Sync {
    let bar = ProgressBar::new(length as u64).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}") {
        bar.set_style(style);
    }
    let pace = Pace::new();
    move |part| {
        bar.set_message(part.to_string());
        bar.inc(1);
        if bar.is_hidden() && pace.is_due() {
            complain(format_args!("{} s: {} of {length}", bar.elapsed().as_secs(), bar.position()));
        }
    }
}
