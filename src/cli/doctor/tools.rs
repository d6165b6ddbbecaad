//! The tools that building, fuzzing and testing need: which are there, and what brings the others.

use std::path::Path;
use std::process::{Command, Stdio};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool, and whether this machine has it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    name: String,
    /// What needs it.
    purpose: String,
    /// Its version or path; null if it is missing.
    found: Option<String>,
    /// What brings it.
    commands: Commands,
    /// What else to know about the commands.
    note: Option<String>,
}

/// The commands that bring a tool.
#[derive(Debug, Serialize, JsonSchema)]
struct Commands {
    /// On Debian and its relatives.
    debian: String,
    /// On Fedora and its relatives.
    fedora: String,
    /// In a container, as root of a Debian image.
    container: String,
}

/// `tools.toml`, which says what each field is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tool: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    purpose: String,
    probe: String,
    #[serde(default)]
    gpu: bool,
    #[serde(default)]
    debian: String,
    #[serde(default)]
    fedora: String,
    run: Option<String>,
    container: Option<String>,
    note: Option<String>,
}

/// The tools that this machine should have.
pub fn tools() -> anyhow::Result<Vec<Tool>> {
    let List { tool } = toml::from_str(include_str!("tools.toml"))?;
    let has_gpu = has_gpu();
    Ok(tool.into_iter().filter(|entry| !entry.gpu || has_gpu).map(Tool::probed).collect())
}

impl Tool {
    /// Looks for the tool of `entry`.
    fn probed(entry: Entry) -> Self {
        let Entry { name, purpose, probe, debian, fedora, run, container, note, .. } = entry;
        let everywhere = |command: &String| Commands {
            debian: command.clone(),
            fedora: command.clone(),
            container: command.clone(),
        };
        let packaged = || Commands {
            container: container.unwrap_or_else(|| format!("apt-get update && apt-get install --yes {debian}")),
            debian: format!("sudo apt-get install {debian}"),
            fedora: format!("sudo dnf install {fedora}"),
        };
        let commands = run.as_ref().map_or_else(packaged, everywhere);
        Self { name, purpose, found: first_line(&probe), commands, note }
    }

    /// True if this machine has it.
    pub fn is_there(&self) -> bool {
        self.found.is_some()
    }

    /// True if nothing can be built without it.
    pub fn builds(&self) -> bool {
        self.purpose.starts_with("to build")
    }

    /// Lines for people: what was found, or what brings it.
    pub fn text(&self) -> String {
        let Self { name, purpose, found, commands: Commands { debian, fedora, container }, note } = self;
        if let Some(found) = found {
            return format!("{name}: {found}\n");
        }
        let mut text = format!("{name}: missing, {purpose}\n");
        if debian == fedora {
            text += &format!("    {debian}\n");
        } else {
            text += &format!("    Debian     {debian}\n    Fedora     {fedora}\n    container  {container}\n");
        }
        if let Some(note) = note {
            text += &format!("    {note}\n");
        }
        text
    }
}

/// The first line that a shell command prints, if it succeeds.
fn first_line(command: &str) -> Option<String> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).output().ok()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| printed.lines().next().unwrap_or_default().to_string())
}

/// Whether the machine has an NVIDIA GPU, with or without a driver.
pub fn has_gpu() -> bool {
    let is = |folder: &Path, file: &str, value: &str| {
        std::fs::read_to_string(folder.join(file)).is_ok_and(|text| text.starts_with(value))
    };
    let devices = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().filter_map(Result::ok);
    let mut folders = devices.map(|device| device.path());
    // NVIDIA's number, and the class of displays: the company also makes network adapters.
    let on_the_bus = folders.any(|folder| is(&folder, "vendor", "0x10de") && is(&folder, "class", "0x03"));
    on_the_bus || Path::new("/dev/nvidia0").exists()
}
