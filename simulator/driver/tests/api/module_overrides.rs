//! Modules that are replaced, by a folder that a variable names.

use crate::{PTX, allocate, download, load, start, this_program};
use cuda::api::driver::{context::*, device::*, module::*};
use std::ffi::CStr;
use std::fs;

const VARIABLE: &str = "SNUFFER_SIM_KERNELS";
const TEST: &str = "module_overrides::a_program_gets_the_file_for_its_module_without_the_kernels_that_it_lacks";

/// The module of these tests with its first kernel changed and its second one removed.
fn edited(replaces: &str) -> String {
    let own = PTX.to_str().expect("text").replace("st.global.u32", "add.u32 %r1, %r1, 1;\n    st.global.u32");
    let (first, _) = own.split_once(".visible .entry narrow").expect("the second kernel");
    format!("// replaces {replaces}\n{first}")
}

/// What a process says that loads the module with `file` in the folder.
fn said(file: &str) -> String {
    let folder = std::env::temp_dir().join(format!("snuffer-module-overrides-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("edited.ptx"), file).expect("written");
    fs::write(folder.join("notes.txt"), "no PTX").expect("written");
    let said = this_program().args([TEST, "--exact", "--nocapture"]).env(VARIABLE, &folder).output().expect("it runs");
    fs::remove_dir_all(&folder).expect("removed");
    assert!(said.status.success(), "{said:?}");
    String::from_utf8_lossy(&said.stderr).into_owned()
}

/// Loads the module as a program does, in a process with the variable, and says what came of it.
fn load_and_say() {
    let (mut context, mut put, mut narrow) = (0, 0, 0);
    assert_eq!(cuInit(0), 0);
    assert_eq!(unsafe { cuDevicePrimaryCtxRetain(&raw mut context, 0) }, 0);
    assert_eq!(cuCtxSetCurrent(context), 0);
    let module = match load(PTX) {
        Ok(module) => module,
        Err(code) => return eprintln!("the load returns {code}"),
    };
    let find = |function: &mut usize, name: &CStr| unsafe { cuModuleGetFunction(function, module, name.as_ptr()) };
    assert_eq!(find(&mut put, c"put"), 0);
    let (address, value) = (allocate(4), 7_u32);
    let values = [(&raw const address).cast(), (&raw const value).cast()];
    assert_eq!(start(put, [[1; 3]; 2], 0, values.as_ptr()), 0);
    eprintln!("put {:?}, narrow returns {}", download::<u32>(address, 1), find(&mut narrow, c"narrow"));
}

#[test]
fn a_program_gets_the_file_for_its_module_without_the_kernels_that_it_lacks() {
    if std::env::var_os(VARIABLE).is_some() {
        return load_and_say();
    }
    assert_eq!(said(&edited("narrow put")), "put Ok([8]), narrow returns 500\n");
    assert_eq!(said(&edited("others")), "put Ok([7]), narrow returns 0\n", "the file is for another module");
    let almost = said(&edited("put"));
    assert!(almost.contains("edited.ptx replaces a module of 1 kernels, but the program's has 2, 1 of them in common"));
    assert!(almost.ends_with("the load returns 200\n"), "{almost}");
}

#[test]
fn a_file_that_does_not_say_what_it_replaces_is_named() {
    let folder = std::env::temp_dir().join(format!("snuffer-unmarked-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("bare.ptx"), PTX.to_bytes()).expect("written");
    let output = this_program().args([TEST, "--exact", "--nocapture"]).env(VARIABLE, &folder).output();
    fs::remove_dir_all(&folder).expect("removed");
    let said = String::from_utf8_lossy(&output.expect("it runs").stderr).into_owned();
    assert!(said.contains("bare.ptx: its first line must be `// replaces "), "{said}");
}
