//! Proves that the archive has no software of NVIDIA, which may not be passed on: every binary in it must be known.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::{DRIVER, EXECUTABLES};

/// The simulated device's driver. All other libraries are links to it.
const LIBRARY: &str = "libcuda.so.1";
/// A function that only the simulated device's driver exports.
const OURS: &[u8] = b"snuffer_sim_count_in";
/// How symbols of CUDA's runtime begin, which `nvcc` by default links into executables.
const STATIC_RUNTIME: &[u8] = b"libcudart_static_";
/// How executables and libraries begin, and archives of object files.
const BINARIES: [&[u8]; 2] = [b"\x7fELF", b"!<arch>\n"];

/// Checks every file below `root`, and returns how many there are. The `Err` names those that may be NVIDIA's.
pub fn check(root: &Path) -> anyhow::Result<usize> {
    let files = files(root)?;
    let mut strange = Vec::new();
    for file in &files {
        if !is_ours(root, file).with_context(|| format!("cannot read {}", file.display()))? {
            strange.push(file.display().to_string());
        }
    }
    if !strange.is_empty() {
        bail!("the archive may contain NVIDIA software:\n  {}", strange.join("\n  "));
    }
    Ok(files.len())
}

/// All files and links below `folder`, as paths within it.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?.iter().map(|below| name.join(below)));
        } else {
            found.push(name);
        }
    }
    Ok(found)
}

/// Whether a file is no binary, or one of ours at its place.
fn is_ours(root: &Path, file: &Path) -> anyhow::Result<bool> {
    let (folder, name) = (file.parent().unwrap_or(Path::new("")), file.file_name().unwrap_or_default());
    let path = root.join(file);
    if path.is_symlink() {
        return Ok(folder == Path::new(DRIVER) && fs::read_link(path)?.as_os_str() == LIBRARY);
    }
    let content = fs::read(path)?;
    let is_binary = BINARIES.iter().any(|start| content.starts_with(start));
    let has = |text: &[u8]| content.windows(text.len()).any(|part| part == text);
    let is_library = name.to_string_lossy().contains(".so");
    Ok(match () {
        () if folder == Path::new("bin") => {
            is_binary && EXECUTABLES.iter().any(|executable| name == *executable) && !has(STATIC_RUNTIME)
        }
        () if folder == Path::new(DRIVER) => name == LIBRARY && has(OURS),
        () => !is_binary && !is_library,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{OURS, check};

    const ELF: &[u8] = b"\x7fELF\x02\x01\x01";

    /// An archive's folder with one more file.
    fn archive(more: &str, content: &[u8]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let driver = [ELF, OURS].concat();
        for (path, content) in [
            ("bin/snuffer", ELF),
            ("bin/snuffer-worker-cuda", ELF),
            ("simulator/lib/libcuda.so.1", &driver),
            ("README.md", b"It needs no libcuda.so.1 of NVIDIA."),
            (more, content),
        ] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, content).expect("written");
        }
        symlink("libcuda.so.1", root.path().join("simulator/lib/libcublas.so.13")).expect("linked");
        root
    }

    #[test]
    fn an_archive_with_only_our_binaries_passes() {
        let root = archive("licences/candle-core-0.11.1/LICENSE", b"MIT");
        assert_eq!(check(root.path()).expect("ours"), 6);
    }

    #[test]
    fn a_binary_that_is_not_ours_is_named() {
        for (file, content) in [
            ("bin/nvcc", ELF),
            ("bin/snuffer-worker-cuda", b"\x7fELF libcudart_static_fff5db4de8afb04f"),
            ("bin/snuffer", b"#!/bin/sh\nexec nvcc"),
            ("simulator/lib/libcudart.so.13", ELF),
            ("simulator/lib/libcuda.so.1", ELF),
            ("simulator/lib/libcudadevrt.a", b"!<arch>\n"),
            ("licences/ptxas", ELF),
            ("corpora/regressions/libnvvm.so.4", b"stub"),
        ] {
            let root = archive(file, content);
            let problem = check(root.path()).expect_err(file).to_string();
            assert!(problem.contains(file) && problem.lines().count() == 2, "{file}: {problem}");
        }
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_named() {
        for (link, to) in [
            ("simulator/lib/libcurand.so.10", "/usr/local/cuda/lib64/libcurand.so.10"),
            ("bin/snuffer-worker", "../../debug/snuffer-worker"),
        ] {
            let root = archive("README.md", b"");
            symlink(to, root.path().join(link)).expect("linked");
            let problem = check(root.path()).expect_err(link).to_string();
            assert!(problem.contains(link), "{link}: {problem}");
        }
    }
}
