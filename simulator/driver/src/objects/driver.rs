//! The state of the process: its contexts, and the objects that the program has handles of.

use crate::objects::codes::Code;
use crate::objects::contexts::context::Context;
use crate::objects::graphs::{capture, graph};
use crate::objects::handles::Handles;
use crate::objects::libraries::blas::Blas;
use crate::objects::libraries::dnn;
use crate::objects::libraries::generator::Generator;
use crate::objects::libraries::product_description::Description;
use crate::objects::memory::array::Array;
use crate::objects::memory::in_flight::InFlight;
use crate::objects::memory::pinned::Pinned;
use crate::objects::memory::pool::Pool;
use crate::objects::modules::module::{Function, Module};
use crate::objects::modules::module_overrides::ModuleOverride;
use crate::objects::reports::report;
use crate::objects::settings::inject::Injection;
use crate::objects::settings::wedge::Wedge;
use crate::objects::settings::{Delivery, Settings};
use crate::objects::streams::deferred::{Deferred, Done};
use crate::objects::streams::happens_before::{Clock, HappensBefore, Key};
use crate::objects::streams::stream::{Event, Stream};
use simulator::Config;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Work of a stream, which runs in the stream that is named.
pub type StreamWork = Arc<Mutex<dyn FnMut(&mut Driver, Key) -> Result<(), Code> + Send>>;

/// What a node of a graph does.
pub type Task = graph::Task<StreamWork>;
/// A graph of work.
pub type Graph = graph::Graph<StreamWork>;
/// A graph that can be launched.
pub type Executable = graph::Executable<StreamWork>;
/// A capture that goes on.
pub type Capture = capture::Capture<StreamWork>;

/// The whole state of the library. There is one, and it is never dropped.
pub struct Driver {
    pub(crate) config: Config,
    pub(crate) delivery: Delivery,
    pub(crate) injection: Option<Injection>,
    pub(crate) visible: Vec<usize>,
    pub(crate) held: u64,
    pub(crate) wedge: Option<Wedge>,
    pub(crate) overrides: Vec<ModuleOverride>,
    /// The CUDA function that the program is in.
    pub(crate) calling: &'static str,
    /// Whether the environment's configuration is invalid.
    pub(crate) malformed: bool,
    pub(crate) initialized: bool,
    /// The primary contexts, device by device, and then the others.
    pub(crate) contexts: Vec<Option<Context>>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) arrays: Handles<Array>,
    pub(crate) blas: Handles<Blas>,
    pub(crate) descriptions: Handles<Description>,
    pub(crate) dnn: Handles<dnn::Handle>,
    pub(crate) dnn_descriptions: Handles<dnn::Description>,
    pub(crate) generators: Handles<Generator>,
    /// The program's pinned memory of the host, by where it begins.
    pub(crate) pinned: BTreeMap<u64, Pinned>,
    /// Copies from and to pinned memory that the program has not waited for.
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) happens_before: HappensBefore,
    /// Functions of the host, and work that waits for them, that may not have ended.
    pub(super) deferred: Vec<Deferred>,
    /// What the present call has to wait for before it can run.
    pub(crate) awaited: Vec<Arc<Done>>,
    /// When the work began that now runs, if it was deferred.
    pub(super) acting: Option<Clock>,
    /// The memory that was allocated in stream order, with its pool and its bytes. Freeing it waits for nothing.
    pub(crate) in_order: HashMap<u64, (usize, u64)>,
    pub(crate) pools: Handles<Pool>,
    /// The pools that devices have from the start, and those that the program chose for them.
    pub(crate) default_pools: HashMap<usize, usize>,
    pub(crate) chosen_pools: HashMap<usize, usize>,
    /// The captures that go on.
    pub(crate) captures: Vec<Capture>,
    /// How many captures there were.
    pub(crate) captured: u64,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) executables: Handles<Executable>,
}

impl Driver {
    pub(crate) fn new(settings: Settings, malformed: bool) -> Self {
        let Settings { config, delivery, injection, visible, held, wedge, overrides } = settings;
        if config.hardware {
            report::be_silent();
        }
        Self {
            contexts: (0..config.devices).map(|_| None).collect(),
            config,
            delivery,
            injection,
            visible,
            held,
            wedge,
            overrides,
            calling: "",
            malformed,
            initialized: false,
            streams: Handles::new(0x51),
            events: Handles::new(0xE1),
            modules: Handles::new(0x40),
            functions: Handles::new(0xF1),
            arrays: Handles::new(0xA1),
            blas: Handles::new(0xB1),
            descriptions: Handles::new(0xB2),
            dnn: Handles::new(0xD1),
            dnn_descriptions: Handles::new(0xD2),
            generators: Handles::new(0x61),
            pinned: BTreeMap::new(),
            in_flight: Vec::new(),
            happens_before: HappensBefore::default(),
            deferred: Vec::new(),
            awaited: Vec::new(),
            acting: None,
            in_order: HashMap::new(),
            pools: Handles::new(0x90),
            default_pools: HashMap::new(),
            chosen_pools: HashMap::new(),
            captures: Vec::new(),
            captured: 0,
            graphs: Handles::new(0x62),
            executables: Handles::new(0x63),
        }
    }
}
