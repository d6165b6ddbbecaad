//! The state of the process: its contexts, and the objects that the program has handles of.

mod attributes;
mod captures;
mod contexts;
mod copies;
mod deferred;
mod graphs;
mod kernels;
mod libraries;
mod memory;
mod modules;
mod pools;
mod waiting;

use super::array::Array;
use super::blas::Blas;
use super::codes::{self, CONTEXT_IS_DESTROYED, Code, INVALID_HANDLE};
use super::context::{Context, Health};
use super::dnn;
use super::environment::{Delivery, Settings};
use super::function::Function;
use super::generator::Generator;
use super::graph::{Capture, Executable, Graph};
use super::happens_before::{Clock, HappensBefore, Key, Work};
use super::inject::Injection;
use super::module::Module;
use super::pinned::Pinned;
use super::pool::Pool;
use super::product_description::Description;
use super::replacement::Replacement;
use super::report;
use super::slab::Slab;
use super::stream::{Event, Stream};
use super::wedge::Wedge;
use device_record::{Detail, Fault, How, Kind};
use simulator::{Config, Device};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deferred::{Deferred, Done};

pub use kernels::KernelNode;
pub(crate) use kernels::{Size, fits};

/// The whole state of the library. There is one, and it is never dropped.
pub struct Driver {
    pub(crate) config: Config,
    pub(crate) delivery: Delivery,
    pub(crate) injection: Option<Injection>,
    pub(crate) visible: Vec<usize>,
    pub(crate) held: u64,
    pub(crate) wedge: Option<Wedge>,
    pub(crate) replacements: Vec<Replacement>,
    /// The CUDA function that the program is in.
    pub(crate) calling: &'static str,
    /// Whether the environment's configuration is invalid.
    pub(crate) malformed: bool,
    pub(crate) initialized: bool,
    /// The primary contexts, device by device, and the others behind them.
    pub(crate) contexts: Vec<Option<Context>>,
    pub(crate) streams: Slab<Stream>,
    pub(crate) events: Slab<Event>,
    pub(crate) modules: Slab<Module>,
    pub(crate) functions: Slab<Function>,
    pub(crate) arrays: Slab<Array>,
    pub(crate) blas: Slab<Blas>,
    pub(crate) descriptions: Slab<Description>,
    pub(crate) dnn: Slab<dnn::Handle>,
    pub(crate) dnn_descriptions: Slab<dnn::Description>,
    pub(crate) generators: Slab<Generator>,
    /// The program's pinned memory of the host, by where it begins.
    pub(crate) pinned: BTreeMap<u64, Pinned>,
    pub(crate) happens_before: HappensBefore,
    /// Functions of the host, and work behind them, that may not have ended.
    deferred: Vec<Deferred>,
    /// What the present call has to wait for before it can run.
    pub(crate) awaited: Vec<Arc<Done>>,
    /// When the work began that now runs, if it was deferred.
    acting: Option<Clock>,
    /// The memory that was allocated in stream order, with its pool and its bytes. Freeing it waits for nothing.
    pub(crate) in_order: HashMap<u64, (usize, u64)>,
    pub(crate) pools: Slab<Pool>,
    /// The pools that devices have from the start, and those that the program chose for them.
    pub(crate) default_pools: HashMap<usize, usize>,
    pub(crate) chosen_pools: HashMap<usize, usize>,
    /// The captures that go on.
    pub(crate) captures: Vec<Capture>,
    /// How many captures there were.
    pub(crate) captured: u64,
    pub(crate) graphs: Slab<Graph>,
    pub(crate) executables: Slab<Executable>,
}

impl Driver {
    pub(crate) fn new(settings: Settings, malformed: bool) -> Self {
        let Settings { config, delivery, injection, visible, held, wedge, replacements } = settings;
        Self {
            contexts: (0..config.devices).map(|_| None).collect(),
            config,
            delivery,
            injection,
            visible,
            held,
            wedge,
            replacements,
            calling: "",
            malformed,
            initialized: false,
            streams: Slab::new(0x51),
            events: Slab::new(0xE1),
            modules: Slab::new(0x40),
            functions: Slab::new(0xF1),
            arrays: Slab::new(0xA1),
            blas: Slab::new(0xB1),
            descriptions: Slab::new(0xB2),
            dnn: Slab::new(0xD1),
            dnn_descriptions: Slab::new(0xD2),
            generators: Slab::new(0x61),
            pinned: BTreeMap::new(),
            happens_before: HappensBefore::default(),
            deferred: Vec::new(),
            awaited: Vec::new(),
            acting: None,
            in_order: HashMap::new(),
            pools: Slab::new(0x90),
            default_pools: HashMap::new(),
            chosen_pools: HashMap::new(),
            captures: Vec::new(),
            captured: 0,
            graphs: Slab::new(0x62),
            executables: Slab::new(0x63),
        }
    }

    pub(crate) fn context(&mut self, index: usize) -> Result<&mut Context, Code> {
        self.contexts.get_mut(index).and_then(Option::as_mut).ok_or(CONTEXT_IS_DESTROYED)
    }

    /// The context of a stream; the current one for the default streams.
    pub(crate) fn stream_context(&self, stream: usize) -> Result<usize, Code> {
        match stream {
            0..=2 => self.current(),
            handle => self.streams.get(handle).map(|stream| stream.context).ok_or(INVALID_HANDLE),
        }
    }

    /// A stream with its context.
    pub(crate) fn key(&self, stream: usize) -> Result<Key, Code> {
        Ok((self.stream_context(stream)?, stream))
    }

    /// The current context, unless its error was delivered.
    pub(crate) fn current_context(&mut self) -> Result<&mut Context, Code> {
        let context = self.current()?;
        self.checked(context)
    }

    /// The context of a stream, unless its error was delivered.
    pub(crate) fn context_of(&mut self, stream: usize) -> Result<&mut Context, Code> {
        let context = self.stream_context(stream)?;
        self.checked(context)
    }

    pub(crate) fn checked(&mut self, index: usize) -> Result<&mut Context, Code> {
        let context = self.context(index)?;
        context.check()?;
        Ok(context)
    }

    /// The device whose memory has this address, whichever context is current: all share one range of addresses. If no
    /// device has it, that of `context` refuses it.
    pub(crate) fn device_of(&mut self, address: u64, context: usize) -> Result<&mut Device, Code> {
        let owner = self.contexts.iter().position(|one| one.as_ref().is_some_and(|one| one.device.owns(address)));
        Ok(&mut self.context(owner.unwrap_or(context))?.device)
    }

    /// Records that work in a stream accesses allocations, and reports unordered work in another stream.
    pub(crate) fn record_work(&mut self, key: Key, touched: &[(u64, bool)], what: &str) {
        if !self.config.checks.streams {
            return;
        }
        if self.acting.is_none() {
            self.happens_before.begin(key, self.is_blocking(key.1));
        }
        for &(address, wrote) in touched {
            if let Some(before) = self.happens_before.access((key, self.acting.as_ref()), address, wrote, what) {
                report::finding(&unordered(address, wrote, what, &before));
            }
        }
    }

    /// The allocation at an address, as [`Self::record_work`] takes it.
    pub(crate) fn allocation_at(&mut self, address: u64, wrote: bool) -> Option<(u64, bool)> {
        let mut devices = self.contexts.iter().flatten().map(|context| &context.device);
        Some((devices.find_map(|device| device.base(address))?, wrote))
    }

    /// Reports a fault of work on a device at once; the program gets its code when it is due.
    pub(crate) fn fault(&mut self, ordinal: usize, fault: &Fault) -> Result<(), Code> {
        report::fault(fault);
        self.poison(ordinal, codes::of(fault.kind))
    }

    /// Makes an error stick to a context, unless it has one.
    pub(crate) fn poison(&mut self, ordinal: usize, code: Code) -> Result<(), Code> {
        let delivery = self.delivery;
        let context = self.context(ordinal)?;
        if matches!(context.health, Health::Sound) {
            context.health = if delivery == Delivery::Late { Health::Faulted(code) } else { Health::Dead(code) };
        }
        if delivery == Delivery::Immediate { context.check() } else { Ok(()) }
    }
}

/// The report of unordered work of two streams.
fn unordered(address: u64, wrote: bool, what: &str, before: &Work) -> Fault {
    let how = |wrote: bool| if wrote { How::Write } else { How::Read };
    let detail = Detail::StreamOrder {
        call: what.to_owned(),
        how: how(wrote),
        before: before.what.clone(),
        earlier: how(before.wrote),
    };
    let note = "no event, wait or default stream orders the one after the other".to_owned();
    Fault { address: Some(address), notes: vec![note.into()], ..Fault::new(Kind::StreamRace, what, detail) }
}
