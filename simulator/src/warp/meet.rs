//! What lanes of a warp tell each other: shuffles, votes and barriers, for which the lanes of a member mask meet.

use super::{State, Stop, Warp, stop, write};
use crate::fault::Kind;
use crate::isa::{Choose, Vote};
use crate::kernel::{Do, Inst};
use crate::lanes::{WARP, lanes, mask_of};

impl Warp {
    pub(super) fn shuffle(&mut self, choose: Choose, inst: &Inst, mask: u32) {
        let [from, places, clamps] = [0, 1, 2].map(|arg| self.registers[inst.args[arg] as usize]);
        let (mut value, mut inside) = (from, [0; WARP]);
        for lane in lanes(mask) {
            let (source, valid) = choose.source(lane as u32, places[lane] as u32, clamps[lane] as u32);
            value[lane] = from[source as usize % WARP] & 0xffff_ffff;
            inside[lane] = u64::from(valid);
        }
        write(&mut self.registers[inst.d as usize], &value, mask);
        write(&mut self.registers[inst.d2 as usize], &inside, mask);
    }

    pub(super) fn vote(&mut self, vote: Vote, inst: &Inst, mask: u32) {
        let [votes, members] = [0, 1].map(|arg| self.registers[inst.args[arg] as usize]);
        let votes = mask_of(&votes);
        let mut answers = [0; WARP];
        for lane in lanes(mask) {
            let members = members[lane] as u32 & mask;
            let ballot = votes & members;
            answers[lane] = match vote {
                Vote::All => u64::from(ballot == members),
                Vote::Any => u64::from(ballot != 0),
                Vote::Uniform => u64::from(ballot == 0 || ballot == members),
                Vote::Ballot => u64::from(ballot),
            };
        }
        write(&mut self.registers[inst.d as usize], &answers, mask);
    }

    /// The living lanes of the member masks of `mask` that are not here: not in `mask`, nor at a `bar.warp.sync` where
    /// this is one.
    pub(super) fn missing(&self, inst: &Inst, members: usize, mask: u32) -> Result<u32, Stop> {
        let mut wanted = 0;
        for lane in lanes(mask) {
            let members = self.registers[members][lane] as u32;
            if members >> lane & 1 == 0 {
                let detail = format!("a lane with a member mask of 0x{members:x}, which it is not in");
                return Err(stop(Kind::Unsupported, inst, 1 << lane, detail));
            }
            wanted |= members;
        }
        let mut here = mask;
        if matches!(inst.what, Do::WarpBarrier) {
            let waiting = self.fragments.iter().filter(|fragment| fragment.state == State::Warp);
            here |= waiting.fold(0, |all, fragment| all | fragment.mask);
        }
        Ok(wanted & self.live & !here)
    }

    /// Lets the members go on that wait at a `bar.warp.sync`, at whichever.
    pub(super) fn release_members(&mut self, members: usize, mask: u32) {
        let members = lanes(mask).fold(0, |all, lane| all | self.registers[members][lane] as u32);
        for fragment in &mut self.fragments {
            if fragment.state == State::Warp && fragment.mask & members != 0 {
                fragment.state = State::Ready;
                fragment.pc += 1;
            }
        }
    }
}
