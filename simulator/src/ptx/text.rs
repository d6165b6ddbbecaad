//! The text of a module, and the lines in it.

use std::cell::RefCell;

/// A module's text.
#[derive(Debug)]
pub struct Text {
    text: String,
    /// The line in which each stretch of the text begins, as far as lines were asked for.
    lines: RefCell<Vec<u32>>,
}

/// The bytes of a stretch: so many are searched for newlines again when a line is asked for.
const STRETCH: usize = 1 << 14;

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The line of the byte at `at`, from 1.
    pub fn line_of(&self, at: usize) -> u32 {
        let newlines =
            |from: usize, to: usize| memchr::memchr_iter(b'\n', &self.text.as_bytes()[from..to]).count() as u32;
        let (mut lines, stretch) = (self.lines.borrow_mut(), at / STRETCH);
        for begun in lines.len()..=stretch {
            let line = lines[begun - 1] + newlines((begun - 1) * STRETCH, begun * STRETCH);
            lines.push(line);
        }
        lines[stretch] + newlines(stretch * STRETCH, at)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self { text, lines: RefCell::new(vec![1]) }
    }
}
