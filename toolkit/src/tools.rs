//! How to get the tools that are missing: what `snuffer doctor` says, too.

use toml::{Table, Value};

/// The tools by name.
const TOOLS: &str = include_str!("tools.toml");

/// The commands that bring the tool `name`, as the rest of a sentence.
pub fn remedy(name: &str) -> String {
    let list: Table = TOOLS.parse().expect("tools.toml is TOML");
    let tools = list["tool"].as_array().expect("tools.toml has tools");
    let tool = tools.iter().find(|tool| tool["name"].as_str() == Some(name)).expect("tools.toml has the tool");
    let text = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
    match text("run") {
        "" => format!(
            "`sudo apt-get install {}` (Debian) or `sudo dnf install {}` (Fedora)",
            text("debian"),
            text("fedora")
        ),
        everywhere => format!("`{everywhere}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn a_missing_tool_comes_with_its_command() {
        for (name, command) in [
            ("C and C++ compiler", "`sudo apt-get install g++` (Debian) or `sudo dnf install gcc-c++` (Fedora)"),
            (
                "Python with pip",
                "`sudo apt-get install python3-pip` (Debian) or `sudo dnf install python3-pip` (Fedora)",
            ),
            ("nightly Rust", "`rustup toolchain install nightly --profile minimal`"),
        ] {
            assert_eq!(remedy(name), command);
        }
    }
}
