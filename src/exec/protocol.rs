//! The protocol between `snuffer` and `snuffer-worker`: length-prefixed MessagePack frames over a socket.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::CandleUnderTest;
use super::fence::Side;
use crate::case::Case;
use crate::device::{Device, Gpu, Hardware};
use crate::ops;
use crate::outcome::{Efforts, Outcome};

/// The worker's first message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// `snuffer`'s version, its candle's and the ops it knows: both sides must be built from the same sources.
    pub build: String,
    /// The device that the worker serves.
    pub device: Device,
    /// Whether candle was compiled with debug assertions and overflow checks.
    pub checked: bool,
    /// The hardware of a CUDA device.
    pub hardware: Option<Hardware>,
    /// The state of a real GPU.
    pub gpu: Option<Gpu>,
}

/// One case to run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// A counter of this worker's cases, so that an answer or a death is charged to the right one.
    pub number: u64,
    /// The case.
    pub case: Case,
    /// How it runs.
    pub run: Run,
}

/// How a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// Once.
    Once,
    /// Twice, to compare.
    Twice,
    /// Twice, the second time with a fence on this side of each allocation. There are two answers: a [`Reply`], and what may end at the
    /// fence, an [`Again`].
    Fenced(Side),
}

/// The result of a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The request's number.
    pub number: u64,
    /// The first run's outcome.
    pub outcome: Outcome,
    /// The second run, if it is part of the answer.
    pub again: Option<Again>,
}

/// The second run of a case.
#[derive(Debug, Serialize, Deserialize)]
pub struct Again {
    /// Its outcome, if it differs.
    pub outcome: Option<Outcome>,
    /// Its work, if it is worth judging.
    pub efforts: Option<Efforts>,
}

impl Again {
    /// A second run of a case, the first of which had the outcome `first`.
    pub fn of((outcome, efforts): (Outcome, Efforts), first: &Outcome) -> Self {
        Self { outcome: Some(outcome).filter(|again| again != first), efforts: efforts.unless_small() }
    }
}

/// Identifies the sources of a build, in one line: that of a worker with `candle`, or with the release under test. Both sides must
/// come to the same.
pub fn build_identity(candle: Option<&CandleUnderTest>) -> String {
    let is_there = |name: &&str| candle.is_none_or(|candle| !candle.lacks.iter().any(|lacking| lacking == name));
    let names: Vec<&str> = ops::ALL.iter().map(|op| op.name).filter(is_there).collect();
    let digest = match candle {
        Some(CandleUnderTest { built, workers: Some(_), .. }) => built,
        _ => option_env!("SNUFFER_CANDLE_DIGEST").unwrap_or("as released"),
    };
    let (snuffer, candle) = (env!("CARGO_PKG_VERSION"), CandleUnderTest::version(candle));
    format!("{snuffer}, candle {candle} {digest}: {}", names.join(" "))
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

/// How many bytes of a frame are read at once: a garbled length cannot allocate 4 GiB.
const CHUNK: usize = 1 << 18;

/// Reads one frame's body.
pub fn read_frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    let mut body = Vec::new();
    while body.len() < length {
        let read = body.len();
        body.resize(length.min(read + CHUNK), 0);
        stream.read_exact(&mut body[read..])?;
    }
    Ok(body)
}

/// Writes one frame.
pub fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    stream.write_all(&encode(message)?)
}
