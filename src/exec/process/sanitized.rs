//! What `compute-sanitizer` says of a case. Its text comes from another process than the worker's answer, and so perhaps later.
//! A fault that is planted after the case marks where the case's reports end.

use std::io::{ErrorKind, Write as _};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Worker, protocol};
use crate::exec::diagnosis::Reports;
use crate::exec::protocol::{Request, Run};
use crate::exec::sanitizer::{Sanitizer, Silent};
use crate::ops::canary;

/// How much is read of the beginning of what one case makes the tool print. Equal reports become one anyway.
const MOST: u64 = 8 << 20;

/// How much of the end is read, to find the mark.
const END: u64 = 65_536;

/// What became of a planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    /// It was planted, and the process goes on.
    Here,
    /// It was planted, and cost the process its device.
    AndGone,
    /// It was not planted: the process is gone, because the case cost it its device.
    Gone,
}

impl Worker {
    /// The tool under which this worker runs.
    pub(super) fn tool(&self) -> Option<Sanitizer> {
        Sanitizer::of(self.device, self.spec.behaviour.sanitizer)
    }

    /// How many times the deadline a case has.
    pub(super) fn slowdown(&self) -> u32 {
        self.tool().map_or(1, |_| Sanitizer::SLOWDOWN)
    }

    /// Kills the worker of a tool, which is in the tool's process group and not always its child.
    pub(super) fn kill_under_tool(&self) {
        if self.tool().is_some() {
            let _ = kill_process_group(Pid::from_child(&self.process.child), Signal::KILL);
        }
    }

    /// What `tool` reported about the case that was just answered.
    pub(super) fn reports_under(&mut self, tool: Sanitizer) -> anyhow::Result<Reports> {
        // A case and its mark are two requests, so that the marks of a process alternate.
        let mark = tool.mark(self.number / 2);
        let planted = self.plant(&mark);
        let is_prompt = planted != Planted::Gone && self.mark_comes(&mark)?;
        if !is_prompt {
            // A tool that has ended has printed everything.
            self.end()?;
        }
        let printed = self.captured.both_ends(MOST, END)?;
        let (reports, is_marked) = Reports::from_sanitizer(&printed, &mark);
        if !is_marked && planted != Planted::Gone {
            let last_line = printed.lines().rfind(|line| !line.is_empty()).unwrap_or("it printed nothing").to_string();
            return Err(Silent { mark, last_line }.into());
        }
        // If the case itself ended the process, `attempt` replaces it.
        if planted == Planted::AndGone || planted == Planted::Here && !is_prompt {
            self.restart()?;
        }
        Ok(reports)
    }

    /// Runs the case whose fault the tool must report.
    fn plant(&mut self, mark: &str) -> Planted {
        self.number += 1;
        let case = canary::case(mark);
        let request = Request { number: self.number, case: case.clone(), run: Run::Twice };
        let sent = protocol::encode(&request).and_then(|frame| self.process.socket.write_all(&frame));
        match sent.and_then(|()| self.answer(&case)) {
            Ok(reply) if reply.outcome.lost_the_process() => Planted::AndGone,
            Ok(_) => Planted::Here,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Planted::Here,
            Err(_) => Planted::Gone,
        }
    }

    /// Waits a while for the report of the planted fault. The wait decides nothing: if it is in vain, the tool is ended.
    fn mark_comes(&mut self, mark: &str) -> anyhow::Result<bool> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if Reports::from_sanitizer(&self.captured.last(END)?, mark).1 {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    }
}
