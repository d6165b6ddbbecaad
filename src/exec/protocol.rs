//! What `snuffer` and `snuffer-worker` say to each other: length-prefixed MessagePack frames over a socket.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::device::{Device, Hardware};
use crate::ops;
use crate::outcome::Outcome;

/// The worker's first frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// `snuffer`'s version and the ops it knows: both sides must be built from the same sources.
    pub build: String,
    /// The device that the worker serves.
    pub device: Device,
    /// Whether candle was compiled with debug assertions and overflow checks.
    pub checked: bool,
    /// What a CUDA device is.
    pub hardware: Option<Hardware>,
}

/// One case to run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Counts the cases of this worker, so that an answer or a death is charged to the right one.
    pub number: u64,
    /// The case.
    pub case: Case,
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub number: u64,
    /// The first run's outcome.
    pub outcome: Outcome,
    /// The second run's, where it differs.
    pub again: Option<Outcome>,
}

/// What both sides must share, in one line.
pub fn build_identity() -> String {
    let names: Vec<&str> = ops::ALL.iter().map(|op| op.name).collect();
    format!("{} {}", env!("CARGO_PKG_VERSION"), names.join(" "))
}

/// `message` as a frame.
pub fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    rmp_serde::encode::write_named(&mut frame, message).map_err(io::Error::other)?;
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// A frame's body as a message.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    rmp_serde::from_slice(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads one frame's body.
pub fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let mut body = Vec::new();
    // `take` grows the buffer by what really comes: a garbled length cannot ask for 4 GiB.
    stream.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
}

/// Writes one frame.
pub fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    stream.write_all(&encode(message)?)
}
