//! The fragments of a warp: lanes at one instruction. Chooses the one that runs next, and merges those that meet.

use super::Warp;
use crate::jitter;

/// Why a fragment does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ready,
    /// At the block's barrier of this number.
    Barrier(u8),
    /// Waits for other lanes of its warp to reach this instruction.
    Lanes,
    /// Has asked whether others have done something, and will ask again.
    Polls,
    /// At `bar.warp.sync`: waits for other lanes to reach any.
    Warp,
}

/// Lanes that are at one instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fragment {
    pub pc: usize,
    pub mask: u32,
    pub state: State,
}

impl Warp {
    /// Whether every living thread waits at a barrier of the block.
    pub fn waits(&self) -> bool {
        self.fragments.iter().all(|fragment| matches!(fragment.state, State::Barrier(_)))
    }

    /// Whether any lanes will ask again whether others have done something.
    pub fn polls(&self) -> bool {
        self.fragments.iter().any(|fragment| fragment.state == State::Polls)
    }

    /// Lets such lanes ask.
    pub fn resume(&mut self) {
        for fragment in self.fragments.iter_mut().filter(|fragment| fragment.state == State::Polls) {
            fragment.state = State::Ready;
        }
    }

    /// The ready fragment that is furthest behind; a tired one comes last.
    pub(super) fn next(&self, tired: u32) -> Option<usize> {
        let ready = self.fragments.iter().enumerate().filter(|(_, fragment)| fragment.state == State::Ready);
        ready
            .min_by_key(|(_, fragment)| (fragment.mask & tired != 0, jitter::rank(fragment.pc)))
            .map(|(index, _)| index)
    }

    /// Wakes fragments that wait for other lanes, to check again.
    pub(super) fn wake(&mut self) {
        for fragment in &mut self.fragments {
            if matches!(fragment.state, State::Lanes | State::Warp) {
                fragment.state = State::Ready;
            }
        }
    }

    /// Merges fragments at the same instruction. Those that waited there check again.
    pub(super) fn merge(&mut self) {
        let mut index = 0;
        while index + 1 < self.fragments.len() {
            let Fragment { pc, state, .. } = self.fragments[index];
            let same = |other: &Fragment| {
                let elsewhere = |state: State| !matches!(state, State::Barrier(_) | State::Polls);
                other.pc == pc && (other.state == state || elsewhere(state) && elsewhere(other.state))
            };
            match self.fragments[index + 1..].iter().position(same) {
                Some(place) => {
                    let other = self.fragments.swap_remove(index + 1 + place);
                    let merged = &mut self.fragments[index];
                    merged.mask |= other.mask;
                    merged.state = if let State::Barrier(_) = state { state } else { State::Ready };
                }
                None => index += 1,
            }
        }
    }
}
