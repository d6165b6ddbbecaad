//! One simulated device: its memory, and the modules that are loaded on it.

mod executed;
mod host;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::config::Config;
use crate::coverage::{self, KernelCoverage};
use crate::effort::Effort;
use crate::fault::{Fault, Kind};
use crate::grid::Launch;
use crate::jitter;
use crate::kernel::{self, Kernel};
use crate::launch;
use crate::memory::Memory;
use crate::mutate::{self, Change};
use crate::ptx::{self, Module, Text, Variable};
use crate::warp::{Counters, GridBarrier, Resources, Warp};

/// A loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModuleId(usize);

/// A kernel of a loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionId(usize);

/// Why loading a module failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The text is not PTX.
    Syntax(String),
    /// Its `.target` is above the device's compute capability.
    TooNewArchitecture(String),
    /// Its `.version` is above what the simulator reads.
    TooNewVersion(String),
}

/// What a launch must know of a kernel.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Offset and size of each parameter, in bytes.
    pub params: Vec<(u32, u32)>,
    /// Bytes of all parameters.
    pub param_bytes: u32,
    /// Bytes of shared memory that the kernel declares.
    pub static_shared: u32,
    /// The most threads of a block, if the kernel declares it.
    pub max_threads: Option<u32>,
}

/// The newest `.version` whose text this front end reads. Of a version within the same major one, only new instructions are unknown.
const VERSION: (u32, u32) = (9, u32::MAX);

/// True if a module for this target runs on a device of this compute capability; `None` if it is no target. `sm_90a` runs on 9.0 alone,
/// and `sm_100f` on the capabilities of its family that are not lower.
fn runs_on(target: &str, (major, minor): (u32, u32)) -> Option<bool> {
    let name = target.trim_start_matches("sm_");
    let of: u32 = name.trim_end_matches(['a', 'f']).parse().ok()?;
    let device = major * 10 + minor;
    Some(match name.as_bytes().last() {
        Some(b'a') => of == device,
        Some(b'f') => of <= device && of / 10 == major,
        _ => of <= device,
    })
}

#[derive(Debug)]
struct Loaded {
    text: Text,
    module: Module,
    /// Addresses of variables, once a kernel was decoded.
    variables: Option<HashMap<String, u64>>,
    /// Its kernels that were looked up.
    kernels: HashMap<String, FunctionId>,
}

#[derive(Debug)]
struct Function {
    module: usize,
    entry: Entry,
    /// Decoded at the first launch; an `Err` says why decoding failed.
    kernel: Option<Result<Arc<Kernel>, String>>,
    counters: Counters,
    /// The totals at the last [`Device::new_counts`].
    counted: Vec<u64>,
}

/// A device.
#[derive(Debug)]
pub struct Device {
    config: Config,
    memory: Memory,
    modules: Vec<Option<Box<Loaded>>>,
    functions: Vec<Function>,
    /// The functions of modules that were unloaded. Others take their places.
    unloaded: Vec<FunctionId>,
    warps: Vec<Warp>,
    effort: Effort,
    reports: Vec<Fault>,
    printed: String,
    mutated: bool,
    /// What was executed of modules that were unloaded.
    past: BTreeMap<(String, String), KernelCoverage>,
    /// Where blocks of cooperative launches meet, once there was one.
    workspace: Option<u64>,
}

impl Device {
    /// Device `ordinal` of this configuration.
    pub fn new(ordinal: usize, config: &Config) -> Self {
        jitter::set(config.jitter, config.jitter_varies);
        Self {
            config: config.clone(),
            memory: Memory::new(ordinal, config),
            modules: Vec::new(),
            functions: Vec::new(),
            unloaded: Vec::new(),
            warps: Vec::new(),
            effort: Effort::default(),
            reports: Vec::new(),
            printed: String::new(),
            mutated: false,
            past: BTreeMap::new(),
            workspace: None,
        }
    }

    /// Loads a module; its kernels are decoded when they are launched.
    pub fn load(&mut self, text: impl Into<String>) -> Result<ModuleId, LoadError> {
        let text = text.into();
        let module = ptx::index(&text).map_err(|error| LoadError::Syntax(error.to_string()))?;
        if module.version > VERSION {
            let (major, minor) = module.version;
            return Err(LoadError::TooNewVersion(format!("PTX {major}.{minor}")));
        }
        match runs_on(&module.target, self.config.capability) {
            Some(true) => {}
            Some(false) => return Err(LoadError::TooNewArchitecture(module.target)),
            None => return Err(LoadError::Syntax(format!("`{}` is not a target", module.target))),
        }
        let loaded = Loaded { text: text.into(), module, variables: None, kernels: HashMap::new() };
        self.modules.push(Some(Box::new(loaded)));
        Ok(ModuleId(self.modules.len() - 1))
    }

    /// Unloads a module.
    pub fn unload(&mut self, module: ModuleId) {
        for executed in self.executed(module.0) {
            coverage::add(&mut self.past, executed);
        }
        let Some(loaded) = self.modules.get_mut(module.0).and_then(Option::take) else { return };
        for address in loaded.variables.into_iter().flat_map(HashMap::into_values) {
            // They were allocated by `variables`, once each.
            let _ = self.memory.free(address);
        }
        for function in loaded.kernels.into_values() {
            let Function { kernel, counters, counted, .. } = &mut self.functions[function.0];
            (*kernel, *counters, *counted) = Default::default();
            self.unloaded.push(function);
        }
    }

    /// A kernel by name.
    pub fn function(&mut self, module: ModuleId, name: &str) -> Option<FunctionId> {
        let loaded = self.modules.get_mut(module.0)?.as_mut()?;
        if let Some(&function) = loaded.kernels.get(name) {
            return Some(function);
        }
        let function = loaded.module.functions.get(name).filter(|function| function.entry)?;
        let (offsets, param_bytes) = kernel::offsets(&function.params);
        let params = offsets.into_iter().zip(&function.params).map(|(at, param)| (at, param.bytes)).collect();
        let static_shared = 0;
        let max_threads = function.max_threads;
        let entry = Entry { name: name.to_string(), params, param_bytes, static_shared, max_threads };
        let (module, counters, counted) = (module.0, Counters::default(), Vec::new());
        let function = Function { module, entry, kernel: None, counters, counted };
        let id = self.unloaded.pop().unwrap_or(FunctionId(self.functions.len()));
        match self.functions.get_mut(id.0) {
            Some(place) => *place = function,
            None => self.functions.push(function),
        }
        loaded.kernels.insert(name.to_string(), id);
        // Its shared memory is known after decoding.
        if let Ok(kernel) = self.kernel(id) {
            self.functions[id.0].entry.static_shared = kernel.shared;
        }
        Some(id)
    }

    /// Address and size of a module's variable.
    pub fn global(&mut self, module: ModuleId, name: &str) -> Option<(u64, u64)> {
        self.variables(module.0).ok()?;
        let loaded = self.modules[module.0].as_ref()?;
        let bytes = loaded.module.variables.get(name)?.bytes;
        loaded.variables.as_ref()?.get(name).map(|&address| (address, u64::from(bytes)))
    }

    /// The entry of a kernel.
    pub fn entry(&self, function: FunctionId) -> &Entry {
        &self.functions[function.0].entry
    }

    /// Runs a kernel to its end or first fault. The driver has checked the sizes.
    pub fn launch(&mut self, function: FunctionId, launch: &Launch) -> Result<(), Fault> {
        self.run(function, launch, None)
    }

    /// Runs a kernel whose blocks may wait for each other, to its end or first fault. The driver has checked that all of them fit.
    pub fn launch_cooperative(&mut self, function: FunctionId, launch: &Launch) -> Result<(), Fault> {
        let workspace = self.workspace.or_else(|| self.memory.allocate_for_system(GridBarrier::WORKSPACE));
        self.workspace = workspace;
        let fresh = workspace.and_then(|address| self.memory.bytes_mut(address, GridBarrier::WORKSPACE).ok());
        let Some(fresh) = fresh else {
            let name = self.entry(function).name.clone();
            return Err(unsupported(name, "a cooperative launch beside so many allocations".to_string()));
        };
        fresh.fill(0);
        self.run(function, launch, workspace)
    }

    fn run(&mut self, function: FunctionId, launch: &Launch, workspace: Option<u64>) -> Result<(), Fault> {
        let kernel = match self.kernel(function) {
            Ok(kernel) => kernel,
            Err(what) => return Err(unsupported(self.entry(function).name.clone(), what)),
        };
        jitter::next_launch();
        let Function { module, counters, .. } = &mut self.functions[function.0];
        let Some(loaded) = &self.modules[*module] else {
            return Err(unsupported(kernel.name.clone(), "a kernel of a module that was unloaded".to_string()));
        };
        if self.config.checks.streams {
            self.memory.note_touched();
        }
        let (module, memory) = (&loaded.module, &mut self.memory);
        let (effort, reports, printed) = (&mut self.effort, &mut self.reports, &mut self.printed);
        let resources = Resources { counters, memory, module, effort, reports, printed };
        launch::run(&kernel, launch, &self.config, &mut self.warps, workspace, resources)
    }

    /// The base addresses of the allocations that the last launch accessed, and whether it wrote to them.
    pub fn touched(&mut self) -> Vec<(u64, bool)> {
        let mut touched = self.memory.touched();
        // Launches of any streams use it one after the other.
        touched.retain(|(base, _)| Some(*base) != self.workspace);
        touched
    }

    /// Takes the reports since the last call. They end nothing: the program goes on, as on hardware.
    pub fn reports(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.reports)
    }

    /// Takes what the device has done since the last call.
    pub fn take_effort(&mut self) -> Effort {
        Effort { peak: self.memory.take_peak(), ..std::mem::take(&mut self.effort) }
    }

    /// Counts a copy that the host asked for.
    pub fn count_copy(&mut self, bytes: u64) {
        self.effort.copied += bytes;
    }

    /// Takes what kernels have printed since the last call.
    pub fn printed(&mut self) -> String {
        std::mem::take(&mut self.printed)
    }

    /// The changes that a mutation can make to a kernel, by number; none if it cannot be decoded.
    pub fn changes(&mut self, function: FunctionId) -> Vec<Change> {
        let Ok(kernel) = self.kernel(function) else { return Vec::new() };
        let loaded = self.modules[self.functions[function.0].module].as_ref();
        loaded.map_or_else(Vec::new, |loaded| mutate::changes(&kernel, &loaded.module))
    }

    /// The forms of a kernel's instructions; none if it cannot be decoded.
    pub fn forms(&mut self, function: FunctionId) -> Vec<String> {
        self.kernel(function).map_or_else(|_| Vec::new(), |kernel| kernel.forms.clone())
    }

    fn kernel(&mut self, function: FunctionId) -> Result<Arc<Kernel>, String> {
        if let Some(kernel) = &self.functions[function.0].kernel {
            return kernel.clone();
        }
        let number = self.functions[function.0].module;
        let decoded = self.decode(number, function);
        let function = &mut self.functions[function.0];
        if let Ok(kernel) = &decoded {
            function.counters = Counters::of(kernel);
        }
        function.kernel = Some(decoded.clone());
        decoded
    }

    fn decode(&mut self, number: usize, function: FunctionId) -> Result<Arc<Kernel>, String> {
        self.variables(number)?;
        let loaded = self.modules[number].as_ref().ok_or("its module was unloaded")?;
        let addresses = loaded.variables.as_ref().ok_or("its module has no variables")?;
        let name = &self.functions[function.0].entry.name;
        let declared = &loaded.module.functions[name];
        let mut kernel = kernel::decode(&loaded.text, &loaded.module, declared, addresses, self.config.hardware)?;
        let mutation = self.config.mutate.as_ref().filter(|_| !self.mutated);
        if let Some(what) = mutation.and_then(|mutation| mutate::apply(&mut kernel, mutation, &loaded.module)) {
            self.mutated = true;
            eprintln!("snuffer-sim: mutated {what}");
        }
        kernel.analyze();
        Ok(Arc::new(kernel))
    }

    /// Allocates the module's variables on first use.
    fn variables(&mut self, number: usize) -> Result<(), String> {
        let loaded = self.modules.get_mut(number).and_then(Option::as_mut).ok_or("its module was unloaded")?;
        if loaded.variables.is_some() {
            return Ok(());
        }
        let (module, mut addresses) = (&loaded.module, HashMap::new());
        for (name, variable) in module.variables.iter().filter(|(_, variable)| variable.space != ".shared") {
            let address = self
                .memory
                .allocate(variable.bytes.into())
                .ok_or_else(|| format!("`{name}` is larger than the memory"))?;
            addresses.insert(name.clone(), address);
        }
        for (name, &address) in &addresses {
            let Variable { bytes, data, pointers, .. } = &module.variables[name];
            self.memory.fill(address, (*bytes).into(), &[0]).expect("just allocated");
            let mut write = |at: usize, part: &[u8]| {
                let there = self.memory.bytes_mut(address + at as u64, part.len() as u64);
                there.map(|there| there.copy_from_slice(part)).ok()
            };
            for (at, part) in &data.parts {
                write(*at, part).ok_or_else(|| format!("`{name}` has more initial values than room"))?;
            }
            for (at, target, added) in pointers {
                let found = addresses.get(target).copied().or_else(|| module.address_of(target));
                let written = found.and_then(|found| write(*at, &found.wrapping_add(*added).to_le_bytes()));
                written.ok_or_else(|| format!("`{name}` cannot hold the address of `{target}`"))?;
            }
        }
        loaded.variables = Some(addresses);
        Ok(())
    }
}

fn unsupported(kernel: String, detail: String) -> Fault {
    Fault::new(Kind::Unsupported, kernel, detail)
}
