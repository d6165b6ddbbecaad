//! Pages of pinned memory that a copy may still be writing while the program goes on. Between two calls of the driver nobody may access
//! them: an access raises a signal, and is noted and repeated.

use device_record::How;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ops::Range;
use std::ptr::{self, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The bytes of a page on x86-64.
pub(super) const PAGE: u64 = 4096;
/// How many ranges are guarded at once. Others are not.
const MOST: usize = 64;

/// A range. The handler of the signal reads it, and may not wait for a lock.
struct Guard {
    start: AtomicUsize,
    end: AtomicUsize,
    /// False if anybody may access it. It stays in the table: another thread may be on its way into the handler.
    is_closed: AtomicBool,
    /// The first address that was accessed, the instruction that did, and 1 if it was a write.
    touched: [AtomicUsize; 3],
}

static GUARDS: [Guard; MOST] = [const {
    Guard {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        is_closed: AtomicBool::new(false),
        touched: [const { AtomicUsize::new(0) }; 3],
    }
}; MOST];

/// The next entry of the table to use.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// An access to a guarded range.
pub(super) struct Touched {
    pub address: u64,
    pub instruction: usize,
    pub how: How,
}

/// Guards whole pages from now on. The driver's lock is held.
pub(super) fn close(pages: &Range<u64>) {
    if !is_handled() {
        return;
    }
    let guard = &GUARDS[NEXT.fetch_add(1, Ordering::Relaxed) % MOST];
    if guard.is_closed.load(Ordering::Acquire) {
        return;
    }
    guard.touched.iter().for_each(|part| part.store(0, Ordering::Relaxed));
    guard.start.store(pages.start as usize, Ordering::Relaxed);
    guard.end.store(pages.end as usize, Ordering::Relaxed);
    guard.is_closed.store(true, Ordering::Release);
    protect(guard, libc::PROT_NONE);
}

/// Lets everybody access all ranges, and returns the accesses that there were. The driver's lock is held.
pub(super) fn open() -> Vec<Touched> {
    let mut found = Vec::new();
    for guard in GUARDS.iter().filter(|guard| guard.is_closed.load(Ordering::Acquire)) {
        protect(guard, libc::PROT_READ | libc::PROT_WRITE);
        guard.is_closed.store(false, Ordering::Release);
        let [address, instruction, is_write] = guard.touched.each_ref().map(|part| part.load(Ordering::Acquire));
        let how = if is_write == 0 { How::Read } else { How::Write };
        found.extend((address != 0).then_some(Touched { address: address as u64, instruction, how }));
    }
    found
}

fn protect(guard: &Guard, access: c_int) {
    let (start, end) = (guard.start.load(Ordering::Relaxed), guard.end.load(Ordering::Relaxed));
    // SAFETY: whole pages of memory that the driver has mapped. If the system has no room for another mapping, they stay as they are.
    unsafe { libc::mprotect(ptr::with_exposed_provenance_mut(start), end - start, access) };
}

/// The earlier handler of the signal.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// Installs the handler, once. Returns false if the system refuses.
fn is_handled() -> bool {
    let install = || {
        // SAFETY: the fields of the structure are numbers and pointers, and zero is valid for each.
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
        action.sa_sigaction = handle as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `handle` has the signature that the flags ask for, and the library is never unloaded.
        let code = unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before) };
        (code == 0).then_some(before)
    };
    BEFORE.get_or_init(install).is_some()
}

/// Notes the access, opens the range, and lets the access happen. An access elsewhere is the earlier handler's.
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes valid pointers to a handler with `SA_SIGINFO`, and this signal has an address.
    let (address, registers) =
        unsafe { ((*info).si_addr().addr(), &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs) };
    let has =
        |guard: &&Guard| (guard.start.load(Ordering::Relaxed)..guard.end.load(Ordering::Relaxed)).contains(&address);
    let is_closed = |guard: &&Guard| guard.is_closed.load(Ordering::Acquire);
    if let Some(guard) = GUARDS.iter().filter(has).find(is_closed) {
        // Page-fault error code, bit 1 (Intel SDM 3A, 4.7): the access is a write.
        let is_write = registers[libc::REG_ERR as usize] >> 1 & 1;
        let values = [registers[libc::REG_RIP as usize] as usize, is_write as usize];
        if guard.touched[0].compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            guard.touched[1].store(values[0], Ordering::Release);
            guard.touched[2].store(values[1], Ordering::Release);
        }
        protect(guard, libc::PROT_READ | libc::PROT_WRITE);
    } else if !GUARDS.iter().any(|guard| has(&guard)) {
        pass_on(signal, info, context);
    }
    // Else it was opened meanwhile, and the access is repeated.
}

/// Calls the earlier handler, or restores what the system does without one and returns to the access.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get().and_then(Option::as_ref) else { return };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the action is the one that the system returned.
            unsafe { libc::sigaction(signal, before, null_mut()) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler with this flag has this signature.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: a handler without the flag has this signature.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
