//! The handler of the signal that an access to the fence raises: records it, and lets the process die.

use std::fs::File;
use std::io::{self, Write as _};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use device_record::{Fault, How, Kind, Near, Record, Severity};

use super::calls::{Program, Unlocated};
use super::{allocator, region};

/// Everything the handler needs.
struct Ready {
    /// The file that the record is appended to.
    records: File,
    /// The program whose calls it records.
    program: Program,
    /// The lowest address of a stack. Those on which handlers run are of a few pages.
    stack: usize,
    /// The earlier handler of this signal: Rust's runtime reports a stack overflow.
    before: libc::sigaction,
}

static READY: OnceLock<Ready> = OnceLock::new();

/// The bytes of the stack on which the record is made.
const STACK: usize = 1 << 20;

/// Handles the signal from now on, in all threads.
#[allow(unsafe_code, reason = "system calls")]
pub fn install(records: File) -> io::Result<()> {
    let program = Program::own()?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the system's choice touches no memory that is in use.
    let stack = unsafe { libc::mmap(null_mut(), STACK, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if stack == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the fields of the structure are numbers and pointers, and zero is valid for each.
    let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
    action.sa_sigaction = handle as *const () as usize;
    // Rust's runtime gives each thread of its own another stack for handlers.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the structure is filled in above.
    if unsafe { libc::sigaction(libc::SIGSEGV, null_mut(), &raw mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if READY.set(Ready { records, program, stack: stack as usize, before }).is_ok() {
        // SAFETY: `handle` has the signature that the flags ask for.
        unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()) };
    }
    Ok(())
}

/// Returns to the access, which raises the signal again, and then nobody handles it, or who did before.
#[allow(unsafe_code, reason = "a handler gets pointers from the system")]
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // The code below allocates, and must not use the fence itself.
    allocator::switch(None);
    let Some(ready) = READY.get() else { return };
    // SAFETY: the system passes valid pointers to a handler with `SA_SIGINFO`, and this signal has an address.
    let (address, how) = unsafe { ((*info).si_addr() as usize, how(context)) };
    let Some((kind, near)) = region::wrong(address) else {
        // SAFETY: the action is the one that the system returned.
        unsafe { libc::sigaction(signal, &raw const ready.before, null_mut()) };
        return;
    };
    if BEGUN.swap(true, Ordering::AcqRel) {
        // Another thread records. It ends the process.
        loop {
            std::thread::yield_now();
        }
    }
    // SAFETY: nobody else uses that stack, because only one thread gets here, and the closure does not unwind.
    unsafe { psm::on_stack(ready.stack as *mut u8, STACK, || record(ready, kind, near, how)) };
    // SAFETY: the default action is always valid.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// The kind of access, as the processor reports it (Intel SDM 3A, 4.7, page-fault error code, bit 1).
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the system passes a pointer")]
unsafe fn how(context: *mut libc::c_void) -> How {
    // SAFETY: the third argument of a handler with `SA_SIGINFO` is this structure.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    if registers[libc::REG_ERR as usize] & 2 == 0 { How::Read } else { How::Write }
}

/// The kind of access is not known here.
#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code, reason = "elsewhere it is unsafe")]
unsafe fn how(_: *mut libc::c_void) -> How {
    How::Access
}

fn record(ready: &Ready, kind: Kind, near: Near, how: How) {
    let freed = if kind == Kind::UseAfterFree { " that was freed" } else { "" };
    let mut fault = Fault::new(kind, "", format!("Invalid {how} {near}{freed}"));
    // Without the address, which differs from run to run.
    fault.near = Some(near);
    // The process goes on elsewhere: the memory there is mapped.
    let record = Record { severity: Severity::Report, fault, host: Vec::new() };
    let Ok(mut line) = serde_json::to_vec(&Unlocated::here(record, &ready.program)) else { return };
    line.push(b'\n');
    let _ = (&ready.records).write_all(&line);
}
