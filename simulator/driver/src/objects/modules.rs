//! Loads modules, and finds the functions in them.

mod compile_time;
pub mod image;
pub mod linked_kernels;
pub mod module;
pub mod module_overrides;

use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_PTX, NO_BINARY_FOR_GPU, NOT_FOUND, UNSUPPORTED_PTX_VERSION};
use crate::objects::contexts::attributes::SHARED;
use crate::objects::driver::Driver;
use crate::objects::modules::linked_kernels::Linked;
use crate::objects::modules::module::{Function, Module};
use crate::objects::reports::report;
use simulator::LoadError;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CStr;
use std::{mem, ptr};

impl Driver {
    /// Loads a module of the program, or what the user put in its place.
    pub(crate) fn load_in_place_of(&mut self, own: Cow<str>) -> Result<usize, Code> {
        let overrides = mem::take(&mut self.overrides);
        let loaded = module_overrides::in_place_of(own, &overrides).and_then(|ptx| {
            if self.config.hardware {
                compile_time::pass(&ptx);
            }
            self.load(ptx)
        });
        self.overrides = overrides;
        loaded
    }

    pub(crate) fn load(&mut self, ptx: Cow<str>) -> Result<usize, Code> {
        let loaded = self.current_context()?.device.load(ptx);
        let id = loaded.map_err(|error| {
            let (code, why) = match error {
                LoadError::Syntax(why) => (INVALID_PTX, why),
                LoadError::TooNewArchitecture(why) => (NO_BINARY_FOR_GPU, why),
                LoadError::TooNewVersion(why) => (UNSUPPORTED_PTX_VERSION, why),
            };
            report::print(&format!("snuffer-sim: a module cannot be loaded: {why}"));
            code
        })?;
        let context = self.current()?;
        Ok(self.modules.insert(Module { context, id, functions: HashMap::new() }))
    }

    pub(crate) fn function(&mut self, module: usize, name: &CStr) -> Result<usize, Code> {
        let Module { context, id, functions } = self.modules.get(module).ok_or(INVALID_HANDLE)?;
        if let Some(&known) = functions.get(name) {
            return Ok(known);
        }
        let (context, id) = (*context, *id);
        let device = &mut self.context(context)?.device;
        let found = name.to_str().ok().and_then(|name| device.function(id, name)).ok_or(NOT_FOUND)?;
        let dynamic_shared = SHARED.saturating_sub(device.entry(found).static_shared);
        let handle = self.functions.insert(Function { context, id: found, dynamic_shared });
        self.modules.get_mut(module).ok_or(INVALID_HANDLE)?.functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// A linked kernel as a function of the current context. The first use loads its fat binary.
    pub(crate) fn loaded(&mut self, kernel: &Linked) -> Result<usize, Code> {
        let module = match self.current_context()?.linked.get(&kernel.binary) {
            Some(&module) => module,
            None => {
                let image = ptr::with_exposed_provenance(kernel.image);
                // SAFETY: a compiler made the fat binary, and the program has not taken its kernels back.
                let module = self.load(unsafe { image::ptx(image, self.config.capability)? })?;
                self.current_context()?.linked.insert(kernel.binary, module);
                module
            }
        };
        self.function(module, &kernel.name)
    }
}
