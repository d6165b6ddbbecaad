//! Contexts: a primary one for each device, which its users share, and those that the program makes. And their errors.

pub mod attributes;
pub mod context;

use crate::objects::codes::{
    self, CONTEXT_IS_DESTROYED, Code, INVALID_CONTEXT, INVALID_HANDLE, NOT_INITIALIZED, OUT_OF_MEMORY,
};
use crate::objects::contexts::context::{Context, Health, Preferences};
use crate::objects::driver::Driver;
use crate::objects::reports::report;
use crate::objects::settings::Delivery;
use crate::objects::streams::happens_before::Key;
use crate::objects::streams::per_thread;
use device_record::Fault;
use simulator::Device;
use std::collections::HashMap;

/// Context handles are this and the context's index.
const CONTEXT: usize = 0xC0 << 56;

/// How many contexts there can be at once: each has a range of addresses of its own.
const MOST: usize = 15;

impl Driver {
    /// Adds a user of a device's primary context; the first one creates it, if the device has memory for it.
    pub(crate) fn retain(&mut self, ordinal: usize) -> Result<usize, Code> {
        if self.contexts[ordinal].is_none() {
            self.contexts[ordinal] = Some(self.new_context(ordinal, ordinal)?);
        }
        self.context(ordinal)?.retained += 1;
        Ok(CONTEXT | ordinal)
    }

    /// Removes a user; the last one destroys the context and what was made in it.
    pub(crate) fn release(&mut self, ordinal: usize) -> Result<(), Code> {
        let retained = self.contexts[ordinal].as_ref().ok_or(INVALID_CONTEXT)?.retained - 1;
        if retained == 0 {
            self.await_context(ordinal)?;
        }
        self.context(ordinal)?.retained = retained;
        if retained == 0 {
            self.destroy(ordinal);
        }
        Ok(())
    }

    /// The users of a device's primary context.
    pub(crate) fn retained(&self, ordinal: usize) -> usize {
        self.contexts[ordinal].as_ref().map_or(0, |context| context.retained)
    }

    /// Makes a context of a device that is not primary, and makes it current to the thread.
    pub(crate) fn create_context(&mut self, ordinal: usize) -> Result<usize, Code> {
        let devices = self.config.devices;
        let free = (devices..self.contexts.len()).find(|&index| self.contexts[index].is_none());
        let index = free.unwrap_or(self.contexts.len());
        if index >= MOST {
            return Err(OUT_OF_MEMORY);
        }
        let new = Context { retained: 1, ..self.new_context(index, ordinal)? };
        self.contexts.resize_with(self.contexts.len().max(index + 1), || None);
        self.contexts[index] = Some(new);
        context::push(CONTEXT | index);
        Ok(CONTEXT | index)
    }

    /// Destroys a context that is not primary, with what was made in it. The thread's context before it becomes current.
    pub(crate) fn destroy_context(&mut self, handle: usize) -> Result<(), Code> {
        let index = self.index(handle)?;
        if index < self.config.devices || self.contexts[index].is_none() {
            return Err(INVALID_CONTEXT);
        }
        self.await_context(index)?;
        self.destroy(index);
        if context::current() == handle {
            context::pop();
        }
        Ok(())
    }

    /// The index of a context's handle.
    pub(crate) fn index(&self, handle: usize) -> Result<usize, Code> {
        let index = handle & !CONTEXT;
        if handle & CONTEXT == CONTEXT && index < self.contexts.len() { Ok(index) } else { Err(INVALID_CONTEXT) }
    }

    /// The index of the thread's current context. A primary context has that of its device.
    pub(crate) fn current(&self) -> Result<usize, Code> {
        if self.initialized { self.index(context::current()) } else { Err(NOT_INITIALIZED) }
    }

    /// The device of the thread's current context.
    pub(crate) fn current_device(&mut self) -> Result<usize, Code> {
        let index = self.current()?;
        Ok(self.context(index)?.ordinal)
    }

    fn new_context(&self, index: usize, ordinal: usize) -> Result<Context, Code> {
        if self.config.memory == 0 {
            return Err(OUT_OF_MEMORY);
        }
        let device = Device::new(index, &self.config);
        Ok(Context {
            ordinal,
            device,
            retained: 0,
            health: Health::Sound,
            preferences: Preferences::NEW,
            linked: HashMap::new(),
        })
    }

    fn destroy(&mut self, index: usize) {
        if let Some(context) = self.contexts[index].take() {
            context.end(self.config.checks);
            self.happens_before.forget_all(|allocation| context.device.owns(allocation));
        }
        self.happens_before.retire_context(index);
        self.forget_destroyed();
        let gone: Vec<u64> =
            self.pinned.iter().filter(|(_, pinned)| pinned.context == index).map(|(&address, _)| address).collect();
        for address in gone {
            self.unpin(address);
        }
        self.streams.retain(|stream| stream.context != index);
        self.events.retain(|event| event.context != index);
        self.modules.retain(|module| module.context != index);
        self.functions.retain(|function| function.context != index);
        self.arrays.retain(|array| array.context != index);
        self.captures.retain(|capture| capture.origin.0 != index);
        self.graphs.retain(|graph| graph.context != index);
        self.executables.retain(|executable| executable.graph.context != index);
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

    /// The stream of a handle, with its context.
    pub(crate) fn key(&self, stream: usize) -> Result<Key, Code> {
        Ok((self.stream_context(stream)?, per_thread::resolved(stream)))
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
