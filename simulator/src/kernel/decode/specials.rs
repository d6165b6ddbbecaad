//! Special registers that are read anew each time, or that are places in memory, and the test for constant variables.

use std::collections::BTreeMap;

use super::Decoder;
use crate::kernel::arrays::MOST_SHARED;
use crate::kernel::{Inst, Op, Register, ZERO};
use crate::lanes::WARP;
use crate::ptx::{Operand, Source};

/// Bytes of shared memory that the system reserves for each block, for the use of libraries.
const RESERVED: u32 = 1024;
const RESERVED_NAME: &str = "reserved";

impl<'a> Decoder<'a> {
    /// The register with the present value of a special register, if that is its name.
    pub(super) fn computed(&mut self, name: &str) -> Result<Option<Register>, String> {
        let half = match name {
            "WARP_SZ" => return Ok(Some(self.names.constant(WARP as u64))),
            "%clock64" | "%globaltimer" => "mov.u64",
            "%clock" | "%globaltimer_lo" => "cvt.u32.u64",
            "%clock_hi" | "%globaltimer_hi" => "unpack.32",
            _ => return self.reserved(name),
        };
        let time = self.names.fresh();
        self.push(Inst { d: time, ..Inst::new(Op::Clock) });
        Ok(Some(self.emit(half, [time, ZERO], Source::default())))
    }

    /// Places in the shared memory that the system reserves: its beginning, two parts, and its end.
    fn reserved(&mut self, name: &str) -> Result<Option<Register>, String> {
        let offset = match name.strip_prefix("%reserved_smem_offset_") {
            Some("begin" | "0") => 0,
            Some("1") => RESERVED / 2,
            Some("cap" | "end") => RESERVED,
            _ => return Ok(None),
        };
        let at = match self.shared.get(RESERVED_NAME) {
            Some(&at) => at,
            None => self.shared_arrays.place(RESERVED_NAME, RESERVED, 128, MOST_SHARED)?,
        };
        self.shared.insert(RESERVED_NAME.to_string(), at);
        Ok(Some(self.names.constant(at + u64::from(offset))))
    }

    /// `isspacep.const`: whether an address is that of a constant variable of the module.
    pub(super) fn is_constant(&mut self, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let [d, address] = operands else { return Err("isspacep with these operands".to_string()) };
        let (d, address) = (self.destination(d)?, self.value(address)?);
        let mut found = ZERO;
        let constants = self.module.variables.iter().filter(|(_, variable)| variable.space == ".const");
        let constants: BTreeMap<_, _> = constants.collect();
        for (name, variable) in constants {
            let base = *self.addresses.get(name).ok_or_else(|| format!("unknown name `{name}`"))?;
            let (base, bytes) = (self.names.constant(base), self.names.constant(variable.bytes.into()));
            let distance = self.emit("sub.u64", [address, base], source);
            let inside = self.emit("setp.lo.u64", [distance, bytes], source);
            found = self.emit("or.pred", [found, inside], source);
        }
        self.push(Inst { d, args: [found, ZERO, ZERO, ZERO], source, ..Inst::new(Self::op("mov.pred")) });
        Ok(())
    }
}
