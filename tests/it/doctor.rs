//! The doctor names each missing tool with the commands that bring it, and the container has the tools that builds need.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::json::valid;

/// What the doctor prints on a machine whose tools are in `path`.
fn doctor(path: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    let output = command.arg("doctor").args(more).env("PATH", path).output().expect("snuffer starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The list of tools.
fn tools() -> Vec<toml::Value> {
    let list: toml::Table = include_str!("../../src/cli/doctor/tools.toml").parse().expect("TOML");
    list["tool"].as_array().expect("tools").clone()
}

/// The Debian packages of the tools for `purpose`.
fn packages(purpose: &str) -> Vec<String> {
    let tools = tools();
    let wanted = tools.iter().filter(|tool| {
        tool["purpose"].as_str().is_some_and(|text| text.starts_with(purpose)) && tool.get("gpu").is_none()
    });
    let packages = wanted.filter_map(|tool| tool.get("debian")?.as_str()).flat_map(|names| names.split(' '));
    packages.map(ToString::to_string).collect()
}

#[test]
fn each_missing_tool_is_named_with_the_commands_that_bring_it() {
    let nothing = tempfile::tempdir().expect("a folder");
    let shown = doctor(nothing.path(), &[]);
    let machine = &valid("doctor", &doctor(nothing.path(), &["--json"]))[0];
    let listed = machine["tools"].as_array().expect("tools");
    assert!(listed.len() >= 5, "{machine}");
    for tool in listed {
        let text = |field: &Value| field.as_str().expect("text").to_string();
        let (name, purpose) = (text(&tool["name"]), text(&tool["purpose"]));
        assert!(tool["found"].is_null(), "{tool}");
        assert!(shown.contains(&format!("{name}: missing, {purpose}\n")), "{name} in\n{shown}");
        for system in ["debian", "fedora", "container"] {
            assert!(shown.contains(&text(&tool["commands"][system])), "{name} on {system} in\n{shown}");
        }
    }
    for command in [
        "\nnot ready\n",
        "\noptional, and missing\n",
        "    Debian     sudo apt-get install g++\n",
        "    Fedora     sudo dnf install gcc-c++\n",
        "    container  apt-get update && apt-get install --yes g++\n",
        "    rustup toolchain install nightly --profile minimal\n",
    ] {
        assert!(shown.contains(command), "{shown}");
    }
}

#[test]
fn a_tool_that_is_there_is_shown_with_its_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let tool = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    };
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("sh")).expect("linked");
    tool("cargo", "echo cargo 1.2.3; echo more");
    tool("rustup", "exit 1");
    let shown = doctor(folder.path(), &[]);
    assert!(
        shown.contains("\n  Rust: cargo 1.2.3\n") && shown.contains("\n  nightly Rust: missing, to fuzz\n"),
        "{shown}"
    );
}

#[test]
fn the_container_and_the_site_test_install_the_packages_that_the_doctor_names() {
    for (file, purpose, text) in [
        ("Containerfile", "to build", include_str!("../../Containerfile")),
        ("tests/site/run.sh", "to test the site", include_str!("../site/run.sh")),
    ] {
        let packages = packages(purpose);
        assert!(packages.len() >= 2, "{purpose}: {packages:?}");
        let installs: Vec<&str> = text.split("apt-get install --yes --no-install-recommends ").skip(1).collect();
        assert!(!installs.is_empty(), "{file} installs nothing");
        for install in installs {
            let installed = install.split([' ', ';', '\n']).take(packages.len()).collect::<Vec<_>>();
            assert_eq!(installed, packages, "{file}");
        }
    }
}
