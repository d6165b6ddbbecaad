//! What a module declares: functions and the ranges of their bodies, variables, source files. Bodies are skipped, so that a
//! module of ten megabytes loads in milliseconds.

use crate::fault;
use std::collections::HashMap;
use std::ops::Range;

use super::SyntaxError;
use super::lexer::{Lexer, Token};
use super::parser::{Parameter, constant, parameter};

/// A function or kernel.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub entry: bool,
    /// What it takes, in order.
    pub params: Vec<Parameter>,
    /// What it returns.
    pub returns: Vec<Parameter>,
    /// The range of its body in the text, braces included; empty for a declaration.
    pub body: Range<usize>,
    /// `.maxntid` or `.reqntid`: the most threads of a block.
    pub max_threads: Option<u32>,
}

/// A variable of the module.
#[derive(Debug, Clone)]
pub struct Variable {
    /// `.global`, `.shared` or `.const`.
    pub space: String,
    /// Bytes; 0 for an `extern` array, whose size the launch decides.
    pub bytes: u32,
    /// Bytes of alignment.
    pub align: u32,
    /// What it holds at first.
    pub data: Vec<u8>,
    /// Where it holds the address of a variable or function: the offset in the data, the name, and what is added.
    pub pointers: Vec<(usize, String, u64)>,
}

/// A module's table of contents.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// `.version`, such as (9, 0).
    pub version: (u32, u32),
    /// `.target`, such as `sm_90a`.
    pub target: String,
    /// Functions by name.
    pub functions: HashMap<String, Function>,
    /// Variables by name.
    pub variables: HashMap<String, Variable>,
    /// Source files by number.
    pub files: HashMap<u32, String>,
}

impl Module {
    /// The line of a source file, if the module names both.
    pub fn source_line(&self, source: super::Source) -> Option<fault::Source> {
        let file = self.files.get(&source.file).filter(|_| source.line > 0)?;
        Some(fault::Source { file: file.clone(), line: source.line })
    }

    /// The address of a function: one that no memory has.
    pub fn address_of(&self, function: &str) -> Option<u64> {
        self.functions.get(function)?;
        let before = self.functions.keys().filter(|name| name.as_str() < function).count() as u64;
        Some(0xf << 60 | (before + 1) << 4)
    }
}

/// Reads the table of contents of `text`.
pub fn index(text: &str) -> Result<Module, SyntaxError> {
    let mut module = Module::default();
    let mut at = 0;
    while at < text.len() {
        let length = header_length(&text[at..]).unwrap_or(text.len() - at);
        let header = &text[at..at + length];
        // Debug sections end a module.
        if header.lines().any(|line| line.trim_start().starts_with(".section")) {
            break;
        }
        let start = at + length;
        let opens = text.as_bytes().get(start) == Some(&b'{');
        let body = if opens { start..start + body_length(text, start)? } else { start..start };
        let lexer = Lexer::new(header, 1).and_then(|lexer| declaration(lexer, &mut module, &body));
        // Lines are counted on demand: without errors, never.
        lexer.map_err(|error| SyntaxError { line: error.line + line_of(text, at) - 1, ..error })?;
        at = body.end;
    }
    files(&text[at..], &mut module);
    if module.target.is_empty() {
        return Err(SyntaxError { line: 1, message: "no `.target`: this is not PTX".to_string() });
    }
    Ok(module)
}

/// The line of the byte at `at`, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() as u32
}

/// The length up to the body of a function, or past the semicolon of a declaration.
fn header_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    // An initializer's braces are not a body.
    let mut initializer = false;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => at += text[at..].find('\n')?,
            b'=' => initializer = true,
            b'{' if !initializer => return Some(at),
            b';' => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the body in braces that begins at `start`.
fn body_length(text: &str, start: usize) -> Result<usize, SyntaxError> {
    let bytes = &text.as_bytes()[start..];
    let (mut at, mut depth) = (0, 0u32);
    while let Some(found) = memchr::memchr3(b'{', b'}', b'/', &bytes[at..]) {
        at += found;
        let comment = match &bytes[at..] {
            [b'/', b'/', ..] => Some("\n"),
            [b'/', b'*', ..] => Some("*/"),
            _ => None,
        };
        match (bytes[at], comment) {
            (_, Some(end)) => at += text[start + at..].find(end).unwrap_or(bytes.len() - at),
            (b'{', None) => depth += 1,
            (b'}', None) => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
        at = (at + 1).min(bytes.len());
    }
    Err(SyntaxError { line: line_of(text, start), message: "a body without an end".to_string() })
}

/// `.file 1 "name"`, one on a line.
fn files(text: &str, module: &mut Module) {
    for line in text.lines().filter_map(|line| line.trim_start().strip_prefix(".file")) {
        let mut parts = line.split('"');
        if let (Some(Ok(number)), Some(name)) = (parts.next().map(|number| number.trim().parse()), parts.next()) {
            module.files.insert(number, name.to_string());
        }
    }
}

fn declaration(mut lexer: Lexer, module: &mut Module, body: &Range<usize>) -> Result<(), SyntaxError> {
    loop {
        match lexer.take()? {
            Token::Word(".version") => {
                let version = lexer.decimal()?;
                let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
                module.version = (major.parse().unwrap_or(0), minor.parse().unwrap_or(0));
            }
            Token::Word(".target") => {
                module.target = lexer.word()?.to_string();
                while lexer.accept(b',')? {
                    lexer.word()?;
                }
            }
            Token::Word(".address_size") => {
                lexer.number()?;
            }
            Token::Word(".file") => {
                let number = lexer.number()? as u32;
                if let Token::Text(name) = lexer.take()? {
                    module.files.insert(number, name.to_string());
                }
            }
            Token::Word(".visible" | ".extern" | ".weak" | ".common") => {}
            Token::Word(kind @ (".entry" | ".func")) => return function(lexer, module, kind == ".entry", body),
            Token::Word(space @ (".global" | ".shared" | ".const")) => return variable(lexer, module, space),
            Token::End | Token::Mark(b';') => return Ok(()),
            other => return Err(lexer.error(format!("unexpected {other:?} outside of functions"))),
        }
    }
}

fn function(mut lexer: Lexer, module: &mut Module, entry: bool, body: &Range<usize>) -> Result<(), SyntaxError> {
    let returns = if lexer.peek() == Token::Mark(b'(') { parameters(&mut lexer)? } else { Vec::new() };
    let name = lexer.word()?.to_string();
    let params = if lexer.peek() == Token::Mark(b'(') { parameters(&mut lexer)? } else { Vec::new() };
    let mut max_threads = None;
    loop {
        match lexer.take()? {
            Token::Word(".maxntid" | ".reqntid") => {
                let mut threads = lexer.number()? as u32;
                while lexer.accept(b',')? {
                    threads = threads.saturating_mul(lexer.number()? as u32);
                }
                max_threads = Some(threads);
            }
            Token::End => break,
            _ => {}
        }
    }
    // A declaration must not hide the definition.
    if !body.is_empty() || !module.functions.contains_key(&name) {
        let function = Function { name: name.clone(), entry, params, returns, body: body.clone(), max_threads };
        module.functions.insert(name, function);
    }
    Ok(())
}

fn parameters(lexer: &mut Lexer) -> Result<Vec<Parameter>, SyntaxError> {
    let mut params = Vec::new();
    lexer.expect(b'(')?;
    while !lexer.accept(b')')? {
        match lexer.take()? {
            Token::Word(".param") => params.push(parameter(lexer)?),
            Token::Mark(b',') => {}
            other => return Err(lexer.error(format!("expected a parameter, got {other:?}"))),
        }
    }
    Ok(params)
}

fn variable(mut lexer: Lexer, module: &mut Module, space: &str) -> Result<(), SyntaxError> {
    let declared = parameter(&mut lexer)?;
    let (mut data, mut pointers) = (Vec::new(), Vec::new());
    if lexer.accept(b'=')? {
        let braces = lexer.accept(b'{')?;
        loop {
            let value = match lexer.peek() {
                Token::Word(_) => {
                    let (name, added) = pointer(&mut lexer)?;
                    pointers.push((data.len(), name, added));
                    0
                }
                _ => constant(&mut lexer, declared.element)?,
            };
            data.extend_from_slice(&value.to_le_bytes()[..declared.element as usize]);
            if !braces || !lexer.accept(b',')? {
                break;
            }
        }
    }
    let bytes = if declared.bytes == 0 { data.len() as u32 } else { declared.bytes };
    data.resize(if space == ".shared" { 0 } else { bytes as usize }, 0);
    let variable = Variable { space: space.to_string(), bytes, align: declared.align, data, pointers };
    module.variables.insert(declared.name, variable);
    Ok(())
}

/// `name`, `generic(name)` or either plus a number.
fn pointer(lexer: &mut Lexer) -> Result<(String, u64), SyntaxError> {
    let mut name = lexer.word()?;
    if lexer.accept(b'(')? {
        name = lexer.word()?;
        lexer.expect(b')')?;
    }
    let added = if lexer.accept(b'+')? { lexer.number()? } else { 0 };
    Ok((name.to_string(), added))
}
