//! The state of the process: the devices, their primary contexts, and what the program holds handles of.
//!
//! A fault of a kernel is sticky. Delivered late, as hardware does, it stays unseen until the program waits: up to the
//! first synchronizing call every call succeeds, launches, copies and fills do nothing, and only allocation goes on.
//! From that call on, every call on the context returns the fault's code, until the process ends or the context is
//! released for the last time, which is taken to destroy it with everything in it.

use crate::blas::Blas;
use crate::codes::{self, CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_INITIALIZED};
use crate::coverage;
use crate::environment::{self, Settings};
use crate::inject::Injection;
use crate::launch::Function;
use crate::module::Module;
use crate::order::{Key, Order, Work};
use crate::rand::Generator;
use crate::report;
use crate::slab::Slab;
use crate::stream::{Event, Stream};
use simulator::{Config, Device, Fault, Kind};
use std::alloc::Layout;
use std::any::type_name;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

/// When the fault of a kernel reaches the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// By the first call that waits for the device, as on hardware.
    Late,
    /// By the call after the launch.
    Next,
    /// By the launch itself.
    Immediate,
}

/// Whether the context's work can still be trusted.
#[derive(Clone, Copy)]
enum Health {
    Sound,
    /// A kernel faulted, and the program does not know it yet.
    Faulted(Code),
    Dead(Code),
}

/// The primary context of a device, while it is retained.
pub struct Context {
    pub(crate) device: Device,
    retained: usize,
    health: Health,
    /// The modules of the fat binaries that are linked into the program, as far as they were used.
    pub(crate) linked: HashMap<usize, usize>,
}

impl Context {
    /// The error that a call which does not wait returns.
    pub(crate) fn check(&self) -> Result<(), Code> {
        match self.health {
            Health::Dead(code) => Err(code),
            Health::Sound | Health::Faulted(_) => Ok(()),
        }
    }

    /// Waits for all work of the context, and learns of its fault.
    pub(crate) fn synchronize(&mut self) -> Result<(), Code> {
        if let Health::Faulted(code) = self.health {
            self.health = Health::Dead(code);
        }
        self.check()
    }

    /// The device, unless it works no more: then what is asked of it is dropped.
    pub(crate) fn working(&mut self) -> Option<&mut Device> {
        matches!(self.health, Health::Sound).then_some(&mut self.device)
    }
}

/// Everything the library knows; there is one of it, and it is never dropped.
pub struct Driver {
    pub(crate) config: Config,
    delivery: Delivery,
    injection: Option<Injection>,
    /// The function of CUDA's that the program is in, by its path or that of a closure in it.
    pub(crate) calling: &'static str,
    /// What is wrong with the environment's configuration.
    pub(crate) malformed: bool,
    pub(crate) initialized: bool,
    contexts: Vec<Option<Context>>,
    pub(crate) streams: Slab<Stream>,
    pub(crate) events: Slab<Event>,
    pub(crate) modules: Slab<Module>,
    pub(crate) functions: Slab<Function>,
    pub(crate) blas: Slab<Blas>,
    pub(crate) generators: Slab<Generator>,
    /// Host memory that the program got from here.
    pub(crate) pinned: HashMap<usize, Layout>,
    pub(crate) order: Order,
}

static DRIVER: OnceLock<Mutex<Driver>> = OnceLock::new();

/// Sets what the environment sets otherwise; too late, and false, once any function of the library was called.
pub fn configure(config: Config, delivery: Delivery) -> bool {
    let settings = Settings { config, delivery, injection: None };
    DRIVER.set(Mutex::new(Driver::new(settings, false))).is_ok()
}

/// Runs `f` on the driver, alone; or not, where the function of CUDA's that it is a closure of is asked to fail.
pub(crate) fn call<F: FnOnce(&mut Driver) -> Result<(), Code>>(f: F) -> Code {
    let driver = DRIVER.get_or_init(|| {
        let settings = environment::settings(|name| std::env::var(name).ok());
        let sound = settings.clone().unwrap_or_else(|wrong| {
            report::say(&format!("snuffer-sim: {wrong}"));
            let config = Config { devices: 0, ..Config::default() };
            Settings { config, delivery: Delivery::Late, injection: None }
        });
        coverage::record_at_exit();
        Mutex::new(Driver::new(sound, settings.is_err()))
    });
    let mut driver = driver.lock().expect("a panic under the lock ends the process");
    if let Some(injection) = &mut driver.injection
        && injection.strikes(type_name::<F>())
    {
        return injection.code;
    }
    driver.calling = type_name::<F>();
    match f(&mut driver) {
        Ok(()) => codes::SUCCESS,
        Err(code) => code,
    }
}

/// Visits the devices in use, unless the driver is busy or was never called.
pub(crate) fn each_device(visit: impl Fn(&Device)) {
    if let Some(driver) = DRIVER.get().and_then(|driver| driver.try_lock().ok()) {
        driver.contexts.iter().flatten().for_each(|context| visit(&context.device));
    }
}

/// Writes a result to where the caller wants it.
///
/// # Safety
/// `to` is null or valid for a write.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and hence valid, as the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

thread_local! {
    /// The handle of the thread's current context, or null.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Context handles are this and the device's ordinal.
const CONTEXT: usize = 0xC0 << 56;

impl Driver {
    fn new(settings: Settings, malformed: bool) -> Self {
        let Settings { config, delivery, injection } = settings;
        Self {
            contexts: (0..config.devices).map(|_| None).collect(),
            config,
            delivery,
            injection,
            calling: "",
            malformed,
            initialized: false,
            streams: Slab::new(0x51),
            events: Slab::new(0xE1),
            modules: Slab::new(0x40),
            functions: Slab::new(0xF1),
            blas: Slab::new(0xB1),
            generators: Slab::new(0x61),
            pinned: HashMap::new(),
            order: Order::default(),
        }
    }

    /// Counts one more user of a device's primary context, which the first one makes.
    pub(crate) fn retain(&mut self, ordinal: usize) -> usize {
        let config = &self.config;
        let device = || Device::new(ordinal, config);
        let new = || Context { device: device(), retained: 0, health: Health::Sound, linked: HashMap::new() };
        self.contexts[ordinal].get_or_insert_with(new).retained += 1;
        CONTEXT | ordinal
    }

    /// Counts one user less; the last one destroys the context and what was made in it.
    pub(crate) fn release(&mut self, ordinal: usize) -> Result<(), Code> {
        let slot = &mut self.contexts[ordinal];
        let context = slot.as_mut().ok_or(INVALID_CONTEXT)?;
        context.retained -= 1;
        if context.retained == 0 {
            coverage::record(&context.device);
            *slot = None;
            self.streams.retain(|stream| stream.context != ordinal);
            self.events.retain(|event| event.context != ordinal);
            self.modules.retain(|module| module.context != ordinal);
            self.functions.retain(|function| function.context != ordinal);
        }
        Ok(())
    }

    /// The users of a device's primary context.
    pub(crate) fn retained(&self, ordinal: usize) -> usize {
        self.contexts[ordinal].as_ref().map_or(0, |context| context.retained)
    }

    pub(crate) fn context(&mut self, ordinal: usize) -> Result<&mut Context, Code> {
        self.contexts.get_mut(ordinal).and_then(Option::as_mut).ok_or(CONTEXT_IS_DESTROYED)
    }

    /// The device of a context's handle.
    pub(crate) fn ordinal(&self, handle: usize) -> Result<usize, Code> {
        let ordinal = handle & !CONTEXT;
        if handle & CONTEXT == CONTEXT && ordinal < self.contexts.len() { Ok(ordinal) } else { Err(INVALID_CONTEXT) }
    }

    /// The thread's current context, by its device.
    pub(crate) fn current(&self) -> Result<usize, Code> {
        if self.initialized { self.ordinal(current()) } else { Err(NOT_INITIALIZED) }
    }

    /// The context that work in a stream belongs to; the current one for the default streams.
    pub(crate) fn stream_context(&self, stream: usize) -> Result<usize, Code> {
        match stream {
            0..=2 => self.current(),
            handle => self.streams.get(handle).map(|stream| stream.context).ok_or(INVALID_HANDLE),
        }
    }

    /// The current context, if its error was not delivered yet.
    pub(crate) fn here(&mut self) -> Result<&mut Context, Code> {
        let context = self.current()?;
        self.checked(context)
    }

    /// The context of a stream, if its error was not delivered yet.
    pub(crate) fn on(&mut self, stream: usize) -> Result<&mut Context, Code> {
        let context = self.stream_context(stream)?;
        self.checked(context)
    }

    fn checked(&mut self, ordinal: usize) -> Result<&mut Context, Code> {
        let context = self.context(ordinal)?;
        context.check()?;
        Ok(context)
    }

    /// The device whose memory an address lies in, whatever context is current: all share one range of addresses. An
    /// address of none is for the stream's device to refuse.
    pub(crate) fn owner(&mut self, address: u64, stream: usize) -> Result<&mut Device, Code> {
        let owner = self.contexts.iter().position(|one| one.as_ref().is_some_and(|one| one.device.owns(address)));
        let ordinal = owner.map_or_else(|| self.stream_context(stream), Ok)?;
        Ok(&mut self.context(ordinal)?.device)
    }

    /// Notes that work in a stream reads or writes allocations, and tells where nothing orders it after work in another.
    pub(crate) fn works(&mut self, key: Key, touched: &[(u64, bool)], what: &str) {
        if !self.config.checks.streams {
            return;
        }
        let stream = key.1;
        self.order.begin(key, stream == 2 || self.streams.get(stream).is_some_and(|stream| stream.blocking));
        for &(address, wrote) in touched {
            if let Some(before) = self.order.access(key, address, wrote, what) {
                report::fault(&unordered(address, wrote, what, &before));
            }
        }
    }

    /// The allocation at an address, as [`Self::works`] wants it.
    pub(crate) fn touch(&mut self, address: u64, wrote: bool) -> Option<(u64, bool)> {
        let mut devices = self.contexts.iter().flatten().map(|context| &context.device);
        Some((devices.find_map(|device| device.base(address))?, wrote))
    }

    /// Diagnoses a fault of work on a device: at once on the error stream, and to the program when it is due.
    pub(crate) fn fault(&mut self, ordinal: usize, fault: &Fault) -> Result<(), Code> {
        report::fault(fault);
        self.poison(ordinal, codes::of(fault.kind))
    }

    /// Makes an error stick to a context. The first one stays.
    pub(crate) fn poison(&mut self, ordinal: usize, code: Code) -> Result<(), Code> {
        let delivery = self.delivery;
        let context = self.context(ordinal)?;
        if matches!(context.health, Health::Sound) {
            context.health = if delivery == Delivery::Late { Health::Faulted(code) } else { Health::Dead(code) };
        }
        if delivery == Delivery::Immediate { context.check() } else { Ok(()) }
    }
}

/// The report on work of two streams without an order.
fn unordered(address: u64, wrote: bool, what: &str, before: &Work) -> Fault {
    let how = |wrote: bool| if wrote { "writes" } else { "reads" };
    let (now, then) = (how(wrote), how(before.wrote));
    Fault {
        kind: Kind::StreamRace,
        kernel: what.to_owned(),
        source: None,
        ptx: 0,
        block: [0; 3],
        thread: [0; 3],
        address: Some(address),
        detail: format!("Stream order: `{what}` {now} what `{}` {then} in another stream", before.what),
        near: String::new(),
        notes: vec!["no event, wait or default stream orders the one after the other".to_owned()],
    }
}

/// The handle of the thread's current context, or null.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// Makes a context current to the thread, or none.
pub(crate) fn make_current(handle: usize) {
    CURRENT.set(handle);
}
