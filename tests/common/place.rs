//! Where tests find what they test: in the checkout, or in an archive that was unpacked elsewhere.

use std::path::PathBuf;

/// The folder with the corpora, the guides and the snapshots: the one that Cargo runs tests in.
pub fn root() -> PathBuf {
    std::env::current_dir().expect("tests run in a folder")
}

/// The program.
pub fn snuffer() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let folder = test.ancestors().nth(2).expect("tests are in a folder beside the program");
    folder.join(format!("snuffer{}", std::env::consts::EXE_SUFFIX))
}
