//! Bytes at an odd address, as a part of a file is.

use crate::case::ParamSpec;

/// Where the bytes are.
pub const UNALIGNED: ParamSpec = ParamSpec::flag("unaligned", false, "True if the bytes begin at an odd address.");

/// `read` of the bytes, which end where their allocation does, so that a memory checker sees an access past them.
pub fn at_address<T>(bytes: &[u8], unaligned: bool, read: impl Fn(&[u8]) -> T) -> T {
    let before = usize::from(unaligned);
    let room = [&[0][..before], bytes].concat();
    read(&room[before..])
}
