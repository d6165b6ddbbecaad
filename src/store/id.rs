//! Short ids of findings.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// The id of the finding `name`: seven hexadecimal digits, for lines that have no room for the name.
pub fn id(name: &str) -> String {
    // A hash that does not change with the release of Rust: an id that was noted down stays valid.
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    format!("{:07x}", hasher.finish() & 0x0fff_ffff)
}
