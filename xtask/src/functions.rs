//! `cargo xtask functions`: the table of the functions of candle and of what it calls, by file and lines.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::functions_of::lines_of;
use crate::sources;

/// Where the table is in the project.
const TABLE: &str = "src/oracle/functions.tsv";

/// The crates whose places findings name, and the folders of each that are generated bindings.
const CRATES: [(&str, &[&str]); 4] =
    [("candle-core", &[]), ("candle-nn", &[]), ("candle-kernels", &[]), ("cudarc", &["sys"])];

/// Writes the table, or with `check` says whether it is what it should be.
pub fn run(root: &Path, check: bool) -> anyhow::Result<u8> {
    sources::keep(root, TABLE, &table(root)?, check, "cargo xtask functions")
}

/// A line for each function: file, first and last line, name.
fn table(root: &Path) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let folders = sources::folders(root, &CRATES.map(|(name, _)| name))?;
    for ((name, generated), folder) in CRATES.iter().zip(folders) {
        for file in files(&folder.join("src"), generated)? {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let place = format!("{name}/{}", file.strip_prefix(&folder)?.display());
            lines.push(lines_of(&place, &text));
        }
    }
    Ok(lines.concat())
}

/// The Rust and CUDA sources below `folder`, in order, but for the folders that are `generated`.
fn files(folder: &Path, generated: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !generated.contains(&name.as_str()) {
                found.extend(files(&path, generated)?);
            }
        } else if path.extension().is_some_and(|end| ["rs", "cu", "cuh"].contains(&&*end.to_string_lossy())) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::run;
    use crate::functions_of::{cuda, rust};

    #[test]
    fn methods_are_named_with_their_type() {
        let source = "impl<I: IntDType> Map1 for IndexSelect<'_, I> {\n    fn f<T: WithDType>(&self) -> T {\n        \
                      todo()\n    }\n}\n\npub fn free() {\n    body();\n}\n\nbin_op!(Div, div, |a, b| a / b);\n";
        let names: Vec<String> = rust(source).into_iter().map(|it| format!("{}-{} {}", it.0, it.1, it.2)).collect();
        assert_eq!(names, ["2-4 IndexSelect::f", "7-9 free", "11-11 bin_op!(Div)"]);
    }

    #[test]
    fn kernels_are_named_by_their_template_or_macro() {
        let source = "template<typename T>\n__device__ void gather(\n    const T *x\n) {\n    assert(x);\n}\n\n#define \
                      OP(T, NAME) \\\nextern \"C\" __global__ void NAME(T *x) \\\n{ gather(x); }\n\nOP(float, gather_f32)\n";
        let names: Vec<String> = cuda(source).into_iter().map(|it| format!("{}-{} {}", it.0, it.1, it.2)).collect();
        assert_eq!(names, ["2-6 gather", "8-10 OP", "12-12 OP"]);
    }

    #[test]
    fn the_table_is_what_candles_sources_say() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        assert_eq!(run(root, true).expect("sources"), 0);
    }
}
