//! The host thread, the device object and the number of times of each step of a sequence.

use serde::{Deserialize, Serialize};

/// A value for each step. Steps after the last value have the default, and no list ends with a default: a case has one form.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<T>", bound(deserialize = "T: Deserialize<'de> + Copy + Default + PartialEq"))]
pub struct PerStep<T>(Vec<T>);

impl<T: Copy + Default + PartialEq> PerStep<T> {
    /// The value of the step at this place, from 0.
    pub fn at(&self, place: usize) -> T {
        self.0.get(place).copied().unwrap_or_default()
    }

    /// Gives the step at this place, from 0, another value.
    pub fn set(&mut self, place: usize, value: T) {
        self.0.resize(self.0.len().max(place + 1), T::default());
        self.0[place] = value;
        self.trim();
    }

    fn trim(&mut self) {
        let last = self.0.iter().rposition(|value| *value != T::default());
        self.0.truncate(last.map_or(0, |last| last + 1));
    }

    /// The values up to the last that is not the default.
    pub fn values(&self) -> &[T] {
        &self.0
    }

    /// The values that are not the default.
    pub fn others(&self) -> impl Iterator<Item = T> {
        self.0.iter().copied().filter(|value| *value != T::default())
    }
}

impl<T> PerStep<T> {
    /// True if every step has the default.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Copy + Default + PartialEq> From<Vec<T>> for PerStep<T> {
    fn from(values: Vec<T>) -> Self {
        let mut values = Self(values);
        values.trim();
        values
    }
}

/// A device object: what candle's `Device` is. Two of one GPU share its memory, and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeviceObject {
    /// The one that the case runs on.
    #[default]
    #[serde(rename = "own")]
    Own,
    /// One of the GPU after it.
    #[serde(rename = "second")]
    Second,
    /// Another one of the same GPU: what a second call of `Device::new_cuda` returns.
    #[serde(rename = "again")]
    Again,
    /// Another one of the same GPU, with a stream of its own.
    #[serde(rename = "own stream")]
    OwnStream,
}

impl DeviceObject {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Own, Self::Second, Self::Again, Self::OwnStream];
    /// All but the one that the case runs on.
    pub const OTHERS: [Self; 3] = [Self::Second, Self::Again, Self::OwnStream];

    /// The one of [`Self::OTHERS`] that has this word.
    pub fn another(word: &str) -> Option<Self> {
        Self::OTHERS.into_iter().find(|object| object.word() == word)
    }

    /// The word in cases.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Second => "second",
            Self::Again => "again",
            Self::OwnStream => "own stream",
        }
    }
}

/// How often a step is made, each time on its own output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Times(u32);

impl Times {
    /// The most.
    const MOST: u32 = 100_000;

    /// Any number from 1 to 100,000; `None` beyond.
    pub fn new(times: u32) -> Option<Self> {
        (1..=Self::MOST).contains(&times).then_some(Self(times))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for Times {
    fn default() -> Self {
        Self(1)
    }
}

impl TryFrom<u32> for Times {
    type Error = String;
    fn try_from(times: u32) -> Result<Self, String> {
        Self::new(times).ok_or_else(|| format!("`times` has a number from 1 to {} for each step", Self::MOST))
    }
}

impl From<Times> for u32 {
    fn from(times: Times) -> Self {
        times.0
    }
}
