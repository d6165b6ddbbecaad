//! Decodes calls: of device functions, and of what the system provides.

use super::{Body, DEPTH, Decoder, End, Item};
use crate::kernel::operands::Binding;
use crate::kernel::{Inst, Op, Register, ZERO};
use crate::ptx::{Operand, Source};

/// What a call names: a function, or a register with its address.
enum Target<'a> {
    Name(&'a str),
    Address(Register),
}

impl<'a> Decoder<'a> {
    pub(super) fn call(&mut self, operands: &[Operand<'a>], body: &Body<'a>) -> Result<(), String> {
        let (returns, name, args) = match operands {
            // What follows the parameters of a call by address says what functions it may be.
            [Operand::List(returns), Operand::Name(name), Operand::List(args), ..] => {
                (returns.as_slice(), *name, args.as_slice())
            }
            [Operand::Name(name), Operand::List(args), ..] => (&[][..], *name, args.as_slice()),
            [Operand::Name(name), ..] => (&[][..], *name, &[][..]),
            _ => return Err("a call with these operands".to_string()),
        };
        let mut places = Vec::new();
        for operand in args.iter().chain(returns) {
            let Operand::Name(name) = operand else {
                return Err("a call with a parameter that has no name".to_string());
            };
            let variable = self.names.variable(name);
            let passed = |one: &Binding| !matches!(one, Binding::KernelParam(_));
            places.push(variable.filter(passed).ok_or_else(|| format!("unknown parameter `{name}`"))?);
        }
        if let Some(address) = self.names.register(name) {
            if !self.in_memory {
                self.needs_memory = true;
                return Err("an indirect call".to_string());
            }
            self.callees_by_address(args.len(), returns.len());
            return self.call_frame(&Target::Address(address), &places, body.source);
        }
        if self.system(name, &places, body.source)? {
            return Ok(());
        }
        let Some(function) = self.module.functions.get(name) else { return Err(format!("call of `{name}`")) };
        if self.inlined.iter().any(|known| known == name) || body.depth == DEPTH {
            if !self.in_memory {
                self.needs_memory = true;
                return Err(format!("recursion in `{name}`"));
            }
            return self.call_frame(&Target::Name(name), &places, body.source);
        }
        let formal = function.params.iter().chain(&function.returns);
        let bound = formal.zip(places).map(|(param, place)| (param.name.clone(), place));
        let end = self.label();
        self.inlined.push(name.to_string());
        self.body(function, bound.collect(), End::Label(end), body.depth + 1)?;
        self.inlined.pop();
        self.items.push(Item::Label(end));
        Ok(())
    }

    /// A call that is not inlined, with the addresses of parameters and results.
    fn call_frame(&mut self, target: &Target, places: &[Binding], source: Source) -> Result<(), String> {
        let mut list = Vec::new();
        for place in places {
            list.push(self.address(*place, source)?);
        }
        let (function, address) = match target {
            Target::Name(name) => (Some(self.callee(&self.module.functions[*name])), ZERO),
            Target::Address(address) => (None, *address),
        };
        // The frame of the function that calls; a kernel has none.
        let own = self.functions.iter().rev().find(|pending| pending.is_open());
        let frame = own.map_or(ZERO, |pending| pending.frame);
        self.lists.push(list);
        let what = Op::Call { function, list: self.lists.len() as u32 - 1 };
        self.push(Inst { args: [address, frame, ZERO, ZERO], source, ..Inst::new(what) });
        Ok(())
    }

    /// The register with the address of a parameter in local memory.
    pub(super) fn address(&mut self, place: Binding, source: Source) -> Result<Register, String> {
        let (base, offset) = self.place(place)?;
        if offset == 0 {
            return Ok(base);
        }
        let offset = self.names.constant(offset as u64);
        Ok(self.emit("add.u64", [base, offset], source))
    }

    /// Calls what the system provides, if that is its name: `printf`, a failed assertion, the device's heap.
    fn system(&mut self, name: &str, places: &[Binding], source: Source) -> Result<bool, String> {
        match (name, places) {
            ("__assertfail", [message, file, line, function, ..]) => {
                let mut args = [ZERO; 4];
                for (arg, (place, bytes)) in args.iter_mut().zip([(message, 8), (file, 8), (line, 4), (function, 8)]) {
                    *arg = self.argument(*place, bytes, source)?;
                }
                self.push(Inst { args, offset: self.assertions, source, ..Inst::new(Op::Assert) });
                self.assertions += 1;
            }
            ("vprintf", [format, arguments, printed]) => {
                let args = [self.argument(*format, 8, source)?, self.argument(*arguments, 8, source)?, ZERO, ZERO];
                self.result(Inst { args, source, ..Inst::new(Op::Print) }, *printed, 4)?;
            }
            ("malloc", [bytes, address]) => {
                let args = [self.argument(*bytes, 8, source)?, ZERO, ZERO, ZERO];
                self.result(Inst { args, source, ..Inst::new(Op::Allocate) }, *address, 8)?;
            }
            ("free", [address]) => {
                let args = [self.argument(*address, 8, source)?, ZERO, ZERO, ZERO];
                self.push(Inst { args, source, ..Inst::new(Op::Free) });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
