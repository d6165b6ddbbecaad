//! A device that is wedged on request: from some launch on, its kernels do not end, in any process.

use crate::objects::reports::report;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

/// Which device is wedged, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wedge {
    /// The device's number in the machine.
    device: usize,
    /// The first launch that does not end, from 1.
    launch: u64,
    /// A file with a byte for each launch on the device, of all processes.
    launches: PathBuf,
}

impl FromStr for Wedge {
    type Err = String;

    /// `1:40:/tmp/launches`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be DEVICE:LAUNCH:FILE, with LAUNCH from 1".to_string();
        let [device, launch, file] = text.splitn(3, ':').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let device = device.parse().map_err(|_| wrong())?;
        let launch = launch.parse().ok().filter(|launch| *launch > 0).ok_or_else(wrong)?;
        Ok(Self { device, launch, launches: file.into() })
    }
}

impl Wedge {
    /// Counts a launch on a device; whether it does not end.
    pub(crate) fn holds(&self, device: usize) -> bool {
        if device != self.device {
            return false;
        }
        let counted = || {
            let mut launches = OpenOptions::new().create(true).append(true).open(&self.launches)?;
            launches.write_all(b".")?;
            launches.metadata()
        };
        match counted() {
            Ok(launches) => launches.len() >= self.launch,
            Err(error) => {
                report::print(&format!("snuffer-sim: cannot write {}: {error}", self.launches.display()));
                false
            }
        }
    }
}
