//! Loads and launches mutants of PTX files through the C interface, as a program would: `mutants SEED COUNT FILES`. Whatever they are,
//! the process goes on.

// Every pointer passed here points to a local variable or to the parameters, which are longer than any kernel may have.
#![allow(unsafe_code)]

use std::ffi::{CString, c_void};
use std::ptr;

use cuda::api::driver::{context, device, launch, memory, module};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

#[path = "../../../tests/common/mutate.rs"]
#[allow(dead_code, reason = "`cargo xtask attack` uses the rest")]
mod mutate;

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().and_then(|arg| arg.parse::<u64>().ok()).expect("a seed and a count");
    let (seed, count) = (number(), number());
    let sources: Vec<Vec<u8>> = args.map(|path| std::fs::read(path).expect("readable")).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    assert_eq!(device::cuInit(0), 0);
    let (mut loaded, mut launched) = (0, 0);
    for _ in 0..count {
        let source = &sources[mutate::below(&mut rng, sources.len())];
        let mutant = match mutate::below(&mut rng, 3) {
            0 => mutate::damaged(&mut rng, source, &sources),
            _ => mutate::hostile(&mut rng, &String::from_utf8_lossy(source)).into_bytes(),
        };
        match in_own_context(&mutant) {
            Some(0) => (loaded, launched) = (loaded + 1, launched + 1),
            Some(_) => loaded += 1,
            None => {}
        }
    }
    println!("{count} mutants: {loaded} were loaded, of which {launched} ran to a good end");
}

/// Loads a mutant and launches each of its kernels. Returns the last code, if it could be loaded.
fn in_own_context(mutant: &[u8]) -> Option<u32> {
    let text = CString::new(mutant.split(|&byte| byte == 0).next().unwrap_or_default()).expect("no NUL is left");
    let (mut own, mut loaded, mut buffer) = (0, 0, 0);
    unsafe {
        assert_eq!(context::cuCtxCreate_v2(&raw mut own, 0, 0), 0);
        memory::cuMemAlloc_v2(&raw mut buffer, 4096);
        let code = module::cuModuleLoadData(&raw mut loaded, text.as_ptr().cast());
        let result = (code == 0).then(|| launched(loaded, &text, buffer));
        context::cuCtxDestroy_v2(own);
        result
    }
}

/// The code of the last launch of a kernel that `text` names; each parameter begins with an address.
fn launched(module: usize, text: &CString, buffer: u64) -> u32 {
    let values = vec![buffer; 8192];
    let params = vec![values.as_ptr().cast::<c_void>(); 8192];
    let text = text.to_string_lossy();
    let mut code = 0;
    for after in text.split(".entry").skip(1).take(4) {
        let name: String =
            after.trim_start().chars().take_while(|it| it.is_alphanumeric() || "_$".contains(*it)).collect();
        let (name, mut function) = (CString::new(name).expect("letters"), 0);
        code = unsafe { module::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) };
        if code == 0 {
            code = unsafe { launch::cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, params.as_ptr(), ptr::null()) };
            code = code.max(context::cuCtxSynchronize());
        }
    }
    code
}
