//! Decodes calls of device functions, which are inlined, of `printf`, and of failed assertions.

use super::{Body, Decoder};
use crate::kernel::operands::Binding;
use crate::kernel::{Inst, Op, ZERO};
use crate::ptx::Operand;

impl<'a> Decoder<'a> {
    pub(super) fn call(&mut self, operands: &[Operand<'a>], body: &Body<'a>) -> Result<(), String> {
        let (returns, name, args) = match operands {
            [Operand::List(returns), Operand::Name(name), Operand::List(args)] => {
                (returns.as_slice(), *name, args.as_slice())
            }
            [Operand::Name(name), Operand::List(args)] => (&[][..], *name, args.as_slice()),
            [Operand::Name(name)] => (&[][..], *name, &[][..]),
            _ => return Err("an indirect call".to_string()),
        };
        let mut places = Vec::new();
        for operand in args.iter().chain(returns) {
            match operand {
                Operand::Name(name) => match self.names.variable(name) {
                    Some(Binding::DeviceParam(place)) => places.push(place),
                    _ => return Err(format!("unknown parameter `{name}`")),
                },
                _ => return Err("a call with a parameter that has no name".to_string()),
            }
        }
        if name == "__assertfail" && places.len() >= 4 {
            let mut arg = |index: usize, bytes| self.names.device_param(places[index], 0, bytes);
            let args = [arg(0, 8)?, arg(1, 8)?, arg(2, 4)?, arg(3, 8)?];
            self.push(Inst { args, offset: self.assertions, source: body.source, ..Inst::new(Op::Assert) });
            self.assertions += 1;
            return Ok(());
        }
        if let ("vprintf", [format, arguments, printed]) = (name, places.as_slice()) {
            let mut place = |place: &u32, bytes| self.names.device_param(*place, 0, bytes);
            let args = [place(format, 8)?, place(arguments, 8)?, ZERO, ZERO];
            let d = place(printed, 4)?;
            self.push(Inst { d, args, source: body.source, ..Inst::new(Op::Print) });
            return Ok(());
        }
        let Some(function) = self.module.functions.get(name) else { return Err(format!("call of `{name}`")) };
        let formal = function.params.iter().chain(&function.returns);
        let bound = formal.zip(places).map(|(param, place)| (param.name.clone(), Binding::DeviceParam(place)));
        self.function(function, bound.collect(), body.depth + 1)
    }
}
