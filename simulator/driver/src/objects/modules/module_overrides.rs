//! PTX that programs get in place of their own modules: the files `NAME.ptx` of the folder that `SNUFFER_SIM_KERNELS` names.
//!
//! A file begins with a comment, `// replaces KERNEL KERNEL …`: all kernels of the module whose place it takes, whichever it has
//! itself. So a module is recognised by what is in it, and a kernel that is gone or new does not matter.

use crate::objects::codes::{Code, INVALID_IMAGE};
use crate::objects::reports::report;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// How a file's first line begins.
const REPLACES: &str = "// replaces ";

/// One of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleOverride {
    file: String,
    /// The kernels of the module that it replaces.
    kernels: BTreeSet<String>,
    ptx: String,
}

/// The files in `folder`, or what is wrong with them.
pub fn read(folder: &Path) -> Result<Vec<ModuleOverride>, String> {
    let mut overrides = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let ptx = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
            let kernels = ptx.lines().next().and_then(|line| line.strip_prefix(REPLACES));
            let kernels = kernels.ok_or(format!("{file}: its first line must be `{REPLACES}KERNEL KERNEL …`"))?;
            let kernels = kernels.split_whitespace().map(str::to_owned).collect();
            overrides.push(ModuleOverride { file, kernels, ptx });
        }
    }
    Ok(overrides)
}

/// What is loaded when the program loads `own`. It is an error if a file is meant for a module that is almost this one: to load
/// the program's own kernels then would look as if the file's had been used.
pub fn in_place_of<'a>(own: Cow<'a, str>, overrides: &'a [ModuleOverride]) -> Result<Cow<'a, str>, Code> {
    if overrides.is_empty() {
        return Ok(own);
    }
    let kernels = simulator::kernels(&own);
    let Some(other) = overrides.iter().find(|other| !other.kernels.is_disjoint(&kernels)) else { return Ok(own) };
    if other.kernels == kernels {
        return Ok(Cow::Borrowed(&other.ptx));
    }
    let (file, shared) = (&other.file, other.kernels.intersection(&kernels).count());
    report::print(&format!(
        "snuffer-sim: SNUFFER_SIM_KERNELS: {file} replaces a module of {} kernels, but the program's has {}, {shared} \
         of them in common",
        other.kernels.len(),
        kernels.len()
    ));
    Err(INVALID_IMAGE)
}

#[cfg(test)]
mod tests {
    use super::{INVALID_IMAGE, ModuleOverride, in_place_of};
    use std::borrow::Cow;

    fn module(kernels: &[&str]) -> String {
        let entry = |name: &&str| format!(".visible .entry {name}()\n{{\n    ret;\n}}\n");
        let entries: String = kernels.iter().map(entry).collect();
        format!(".version 9.0\n.target sm_80\n.address_size 64\n{entries}")
    }

    fn replacement(of: &[&str], ptx: &str) -> ModuleOverride {
        let kernels = of.iter().map(|name| (*name).to_owned()).collect();
        ModuleOverride { file: "edited.ptx".to_owned(), kernels, ptx: ptx.to_owned() }
    }

    #[test]
    fn a_module_is_recognised_by_its_kernels_whichever_the_file_has() {
        let overrides = [replacement(&["a", "b"], "one"), replacement(&["c"], "other")];
        let loaded = |kernels: &[&str]| in_place_of(Cow::Owned(module(kernels)), &overrides).map(Cow::into_owned);
        assert_eq!(loaded(&["b", "a"]), Ok("one".to_owned()));
        assert_eq!(loaded(&["c"]), Ok("other".to_owned()));
        assert_eq!(loaded(&["d"]), Ok(module(&["d"])));
        assert_eq!(loaded(&[]), Ok(module(&[])), "a module without kernels, or no PTX");
    }

    #[test]
    fn a_module_that_is_almost_the_one_to_replace_is_refused() {
        let overrides = [replacement(&["a", "b"], "one")];
        for kernels in [&["a"][..], &["a", "b", "c"], &["b", "c"]] {
            assert_eq!(in_place_of(Cow::Owned(module(kernels)), &overrides), Err(INVALID_IMAGE), "{kernels:?}");
        }
    }
}
