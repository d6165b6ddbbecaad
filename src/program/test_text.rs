//! The text of a test for candle's own suite: its function, its imports, and the file that it belongs to.

use std::iter;

use super::body::Body;
use super::imports::Imports;
use super::{rust, rustfmt};
use crate::device::Device;

/// The crate of candle's tensors.
const CORE: &str = "candle_core";

/// Skips a test on Metal, as candle's own tests do.
const SKIP: &str = "// Skip on metal for now\n    if device.is_metal() {\n        return Ok(());\n    }\n    ";

/// A test for candle's own suite, on each of its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The package whose tests can have it: `candle-core` or `candle-nn`.
    pub package: &'static str,
    /// The file of candle's own tests that it belongs to, in candle's repository.
    pub file: String,
    /// The name of its function.
    pub name: String,
    /// The items that it uses.
    pub imports: Imports,
    /// The function. It takes a device, unless it is for a single one.
    pub function: String,
    /// True if its function takes a device.
    is_of_any_device: bool,
    /// True if its file has no other test: a kernel may assert, after which no CUDA call of the process succeeds.
    is_alone: bool,
}

impl Test {
    /// The function `name` of these lines, for all devices or only one.
    pub(super) fn new(name: String, body: &Body, only: Option<Device>, file: impl Fn(&str) -> String) -> Self {
        let all = ["Device", "Result", "test_device"];
        let imports = body.imports(if only.is_some() { &all[..2] } else { &all });
        // Some files of candle's tests import the `Result` of anyhow, which closures do not return.
        let body = body.borrowing().replace("| -> Result<", &format!("| -> {CORE}::Result<"));
        let body = if only == Some(Device::Cpu) { rust::without_moves(&body) } else { body };
        let function = match only {
            None => format!("fn {name}(device: &Device) -> Result<()> {{\n{body}    Ok(())\n}}\n"),
            Some(device) => {
                let (condition, opened) = match device {
                    Device::Cpu => ("", "Device::Cpu"),
                    Device::Cuda(_) | Device::Sim(_) => ("#[cfg(feature = \"cuda\")]\n", "Device::new_cuda(0)?"),
                };
                format!(
                    "{condition}#[test]\nfn {name}() -> Result<()> {{\n    let device = &{opened};\n{body}    Ok(())\n}}\n"
                )
            }
        };
        let is_of_any_device = only.is_none();
        if !imports.has_candle_nn() && !function.contains("candle_nn") {
            return Self {
                package: "candle-core",
                file: file("candle-core"),
                name,
                imports,
                function,
                is_of_any_device,
                is_alone: false,
            };
        }
        // candle-nn has candle-core under this name.
        let (imports, function) = (imports.of_candle_nn(), function.replace(CORE, "candle"));
        let file = file("candle-nn");
        Self { package: "candle-nn", file, name, imports, function, is_of_any_device, is_alone: false }
    }

    /// It, in a file of its own.
    pub(super) fn alone(self) -> Self {
        Self { file: format!("{}/tests/{}.rs", self.package, self.name), is_alone: true, ..self }
    }

    /// The place that it belongs to, in words.
    pub fn place(&self) -> String {
        format!("{} {}", if self.is_alone { "a new file" } else { "the end of" }, self.file)
    }

    /// It, with another name.
    #[must_use]
    pub fn renamed(self, name: &str) -> Self {
        let [old, new] = [self.name.as_str(), name].map(|name| format!("fn {name}("));
        let test = Self { function: self.function.replace(&old, &new), name: name.to_string(), ..self };
        if test.is_alone { test.alone() } else { test }
    }

    /// It, skipped on Metal as in candle's own tests.
    #[must_use]
    pub fn without_metal(self) -> Self {
        const BEGIN: &str = "(device: &Device) -> Result<()> {\n    ";
        // A test of one device is none of Metal.
        Self { function: self.function.replacen(BEGIN, &format!("{BEGIN}{SKIP}"), 1), ..self }
    }

    /// True if it runs on Metal and is skipped there.
    pub fn skips_metal(&self) -> bool {
        self.function.contains(SKIP)
    }

    /// The call of its function with an expression of a device.
    pub fn call(&self, device: &str) -> String {
        if self.is_of_any_device { format!("{}(&{device})", self.name) } else { format!("{}()", self.name) }
    }

    /// All that a new file of tests needs for it.
    pub fn text(&self) -> String {
        self.text_with(&self.imports)
    }

    /// All that the end of the file of candle's tests with the text `source` needs for it: no import twice, which does not compile, and
    /// none that a `use` at the top of the file can have.
    pub fn added_to(&self, source: &str) -> String {
        let (_, new) = self.imports.beside(source).merged_into(source);
        self.renamed_beside(source).text_with(&new)
    }

    /// The items that a `use` at the top of that file needs besides.
    pub fn imported_by(&self, source: &str) -> Vec<&'static str> {
        let (merged, _) = self.imports.beside(source).merged_into(source);
        merged.names()
    }

    /// With a name that no function of `source` has.
    fn renamed_beside(&self, source: &str) -> Self {
        let is_free = |name: &String| !source.contains(&format!("fn {name}("));
        let numbered = (2..).map(|number| format!("{}_{number}", self.name));
        let name = iter::once(self.name.clone()).chain(numbered).find(is_free).expect("numbers do not end");
        self.clone().renamed(&name)
    }

    fn text_with(&self, imports: &Imports) -> String {
        rustfmt::formatted(&self.unformatted(imports))
    }

    fn unformatted(&self, imports: &Imports) -> String {
        let Self { name, function, is_of_any_device, .. } = self;
        let imports = imports.to_string();
        let blank = if imports.is_empty() { "" } else { "\n" };
        if !is_of_any_device {
            return format!("{imports}{blank}{function}");
        }
        let names = ["", "_cpu", "_gpu", "_metal"].map(|of| format!("    {name}{of}"));
        format!("{imports}{blank}{function}\ntest_device!(\n{}\n);\n", names.join(",\n"))
    }
}
