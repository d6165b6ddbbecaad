//! Each exported function passes its own name, which reports and injected failures use.

use std::fs;
use std::path::Path;

#[test]
fn every_function_passes_its_own_name() {
    let mut checked = 0;
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"), &mut checked);
    assert!(checked > 60, "only {checked} calls seen");
}

fn check(folder: &Path, checked: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            check(&path, checked);
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source file");
        for function in source.split("extern \"C\" fn ").skip(1) {
            let name = function.split('(').next().unwrap_or_default();
            for call in ["call(", "runtime(", "gemm(", "absolute_sum("] {
                // What several functions share is given the name.
                for passed in function.split(call).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')) {
                    assert_eq!(passed.split('"').next(), Some(name), "{}", path.display());
                    *checked += 1;
                }
            }
        }
    }
}
