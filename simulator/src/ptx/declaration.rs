//! Parses declarations of variables, parameters and registers.

use super::SyntaxError;
use super::expression::integer;
use super::lexer::{Lexer, Token};

/// A parameter, or any variable's declaration: alignment, type, name, size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Bytes of one element.
    pub element: u32,
    /// Bytes in all; 0 for an array of unknown size.
    pub bytes: u32,
    /// Bytes of alignment.
    pub align: u32,
    /// Bytes of an element of each dimension of an array, from the outside in.
    pub rows: Vec<u32>,
    /// True if it is a register of a function.
    pub in_register: bool,
}

/// A declaration of registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers<'a> {
    /// True if they are predicates.
    pub predicates: bool,
    /// How many elements each has, if they are vectors.
    pub elements: Option<usize>,
    /// Names, or a prefix and a count.
    pub names: Vec<(&'a str, Option<u32>)>,
}

/// `.attribute(…)`, which says nothing that matters here.
pub fn attributes(lexer: &mut Lexer) -> Result<(), SyntaxError> {
    while lexer.peek() == Token::Word(".attribute") {
        lexer.take()?;
        let mut depth = 0;
        loop {
            match lexer.take()? {
                Token::Mark(b'(') => depth += 1,
                Token::Mark(b')') => depth -= 1,
                Token::End => return Err(lexer.error("expected `)`, got End".to_string())),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// `[.align n] .type name[size]`, after the space.
pub fn parameter(lexer: &mut Lexer) -> Result<Parameter, SyntaxError> {
    let mut align = None;
    let (mut element, mut vector) = (0, 1);
    loop {
        attributes(lexer)?;
        match lexer.peek() {
            Token::Word(word) if word.starts_with('.') => {
                lexer.take()?;
                match word {
                    ".align" => align = Some(integer(lexer)? as u32),
                    // Where a pointer points to.
                    ".ptr" | ".global" | ".shared" | ".local" | ".const" => {}
                    ".v2" => vector = 2,
                    ".v4" => vector = 4,
                    ".v8" => vector = 8,
                    _ => element = bytes_of(word).ok_or_else(|| lexer.error(format!("`{word}` is not a type")))?,
                }
            }
            _ => {
                let named = named(lexer, element * vector, align.unwrap_or(element * vector).max(1))?;
                return Ok(Parameter { element, ..named });
            }
        }
    }
}

/// `name[size]…` of elements of `element` bytes.
pub fn named(lexer: &mut Lexer, element: u32, align: u32) -> Result<Parameter, SyntaxError> {
    let name = lexer.word()?.to_string();
    let mut counts = Vec::new();
    while lexer.accept(b'[')? {
        counts.push(if lexer.peek() == Token::Mark(b']') { 0 } else { integer(lexer)? });
        lexer.expect(b']')?;
    }
    let (mut bytes, mut rows) = (element, Vec::new());
    for &count in counts.iter().rev() {
        rows.insert(0, bytes);
        let all = u64::from(bytes).checked_mul(count).and_then(|bytes| u32::try_from(bytes).ok());
        bytes = all.ok_or_else(|| lexer.error(format!("an array of {count} elements")))?;
    }
    Ok(Parameter { name, element, bytes, align, rows, in_register: false })
}

/// Bytes of a type (PTX ISA 5.2), such as `.f32` or the `f32` of an opcode.
pub fn bytes_of(name: &str) -> Option<u32> {
    let suffix = name.strip_prefix('.').unwrap_or(name);
    let (letters, digits) = suffix.split_at(suffix.find(|c: char| c.is_ascii_digit()).unwrap_or(suffix.len()));
    match (letters, digits) {
        ("pred", "") => Some(1),
        // Handles of textures, samplers and surfaces.
        ("texref" | "samplerref" | "surfref", "") => Some(8),
        ("b" | "u" | "s" | "f" | "bf" | "tf", digits) => match digits {
            "8" => Some(1),
            "16" => Some(2),
            "32" | "16x2" => Some(4),
            "64" | "32x2" => Some(8),
            "128" => Some(16),
            _ => None,
        },
        _ => None,
    }
}

/// Types and names, after `.reg`.
pub fn registers<'a>(lexer: &mut Lexer<'a>) -> Result<Registers<'a>, SyntaxError> {
    // Other types are redundant: instructions have theirs.
    let (mut predicates, mut elements) = (false, None);
    while let Token::Word(word) = lexer.peek()
        && word.starts_with('.')
    {
        predicates |= word == ".pred";
        if let Some(count) = word.strip_prefix(".v") {
            // PTX ISA 5.4.2; eight elements since version 8.8.
            let known = count.parse().ok().filter(|count| [2, 4, 8].contains(count));
            elements = Some(known.ok_or_else(|| lexer.error(format!("a vector of {count} elements")))?);
        }
        lexer.take()?;
        // The alignment of a register means nothing.
        if word == ".align" {
            integer(lexer)?;
        }
    }
    let mut names = Vec::new();
    loop {
        let name = lexer.word()?;
        let count = if lexer.accept(b'<')? {
            let count = lexer.number()? as u32;
            lexer.expect(b'>')?;
            Some(count)
        } else {
            None
        };
        names.push((name, count));
        if !lexer.accept(b',')? {
            return Ok(Registers { predicates, elements, names });
        }
    }
}
