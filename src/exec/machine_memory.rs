//! Whether the machine killed a worker because its memory ran out.

use std::fs::read_to_string;
use std::path::Path;

/// How often that happened before.
#[derive(Debug, Clone, Copy)]
pub struct MachineMemory {
    killed: Option<u64>,
}

impl MachineMemory {
    /// As it is now.
    pub fn now() -> Self {
        Self { killed: killed() }
    }

    /// Why a worker was killed since then, and what to do.
    pub fn why_killed(self) -> &'static str {
        match (self.killed, killed()) {
            (Some(before), Some(now)) if now > before => {
                "it has no memory left; give it more, or lower --memory or --jobs"
            }
            _ => "something sent it SIGKILL; `dmesg` says whether memory ran out: then lower --memory or --jobs",
        }
    }
}

/// How many processes of this one's control group the system has killed to free memory (Linux:
/// Documentation/admin-guide/cgroup-v2.rst, `memory.events`). `None` where it does not say.
fn killed() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let events = read_to_string(Path::new("/sys/fs/cgroup").join(group).join("memory.events")).ok()?;
    events.lines().find_map(|line| line.strip_prefix("oom_kill "))?.parse().ok()
}
