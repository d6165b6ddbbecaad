//! What a module declares: functions and the ranges of their bodies, variables, source files. Bodies are skipped, so that a
//! module of ten megabytes loads in milliseconds.

use crate::fault;
use std::collections::HashMap;
use std::ops::Range;

use super::SyntaxError;
use super::declaration::{Parameter, attributes, parameter};
use super::lexer::{Lexer, Token};
use super::operand::{constant, offset};
use super::scan::{body_length, header_length};

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

/// Where data holds an address: the offset in the data, the name, and what is added.
pub type Pointer = (usize, String, u64);

/// The initial values of a variable. What is between them takes no memory.
#[derive(Debug, Clone, Default)]
pub struct InitialData {
    /// Bytes, and where they are.
    pub parts: Vec<(usize, Vec<u8>)>,
    /// Where the next value goes.
    end: usize,
}

impl InitialData {
    fn push(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some((start, part)) if *start + part.len() == self.end => part.extend_from_slice(bytes),
            _ => self.parts.push((self.end, bytes.to_vec())),
        }
        self.end += bytes.len();
    }
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
    /// Its initial values; zeros elsewhere.
    pub data: InitialData,
    /// Where it holds the address of a variable or function: the offset in the data, the name, and what is added.
    pub pointers: Vec<Pointer>,
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
    /// Other names of functions, and the functions.
    aliases: Vec<(String, String)>,
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
        let start = at + length;
        let opens = text.as_bytes().get(start) == Some(&b'{');
        let end = || SyntaxError { line: line_of(text, start), message: "a body without an end".to_string() };
        let body = if opens { start..start + body_length(&text[start..]).ok_or_else(end)? } else { start..start };
        let lexer = Lexer::new(header, 1).and_then(|lexer| declaration(lexer, &mut module, &body));
        // Lines are counted on demand: without errors, never.
        lexer.map_err(|error| SyntaxError { line: error.line + line_of(text, at) - 1, ..error })?;
        at = body.end;
    }
    aliases(&mut module);
    if module.target.is_empty() {
        return Err(SyntaxError { line: 1, message: "no `.target`: this is not PTX".to_string() });
    }
    Ok(module)
}

/// The line of the byte at `at`, from 1.
fn line_of(text: &str, at: usize) -> u32 {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() as u32
}

/// Gives functions their other names.
fn aliases(module: &mut Module) {
    for (alias, aliasee) in std::mem::take(&mut module.aliases) {
        if let Some(function) = module.functions.get(&aliasee).cloned() {
            module.functions.insert(alias, function);
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
            Token::Word(".alias") => {
                let alias = lexer.word()?.to_string();
                lexer.expect(b',')?;
                module.aliases.push((alias, lexer.word()?.to_string()));
            }
            Token::Word(".pragma") => while !matches!(lexer.take()?, Token::Mark(b';') | Token::End) {},
            // What is in it is for debuggers.
            Token::Word(".section") => return Ok(()),
            // The size and time of a file may follow its name.
            Token::Mark(b',') | Token::Number(_) if !module.files.is_empty() => {}
            Token::Word(".visible" | ".extern" | ".weak" | ".common") => {}
            Token::Word(kind @ (".entry" | ".func")) => return function(lexer, module, kind == ".entry", body),
            Token::Word(space @ (".global" | ".shared" | ".const")) => return variable(lexer, module, space),
            Token::End | Token::Mark(b';') => return Ok(()),
            other => return Err(lexer.error(format!("unexpected {other:?} outside of functions"))),
        }
    }
}

fn function(mut lexer: Lexer, module: &mut Module, entry: bool, body: &Range<usize>) -> Result<(), SyntaxError> {
    attributes(&mut lexer)?;
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
            Token::Word(".reg") => params.push(Parameter { in_register: true, ..parameter(lexer)? }),
            Token::Mark(b',') => {}
            other => return Err(lexer.error(format!("expected a parameter, got {other:?}"))),
        }
    }
    Ok(params)
}

fn variable(mut lexer: Lexer, module: &mut Module, space: &str) -> Result<(), SyntaxError> {
    let declared = parameter(&mut lexer)?;
    let (mut data, mut pointers) = (InitialData::default(), Vec::new());
    if lexer.accept(b'=')? {
        // A row of an array of arrays that has fewer numbers than the row is long ends with zeros.
        let rows: Vec<usize> = declared.rows.iter().map(|&bytes| bytes as usize).collect();
        initializer(&mut lexer, &declared, &rows, &mut data, &mut pointers)?;
    }
    let bytes = if declared.bytes == 0 { data.end as u32 } else { declared.bytes };
    let variable = Variable { space: space.to_string(), bytes, align: declared.align, data, pointers };
    module.variables.insert(declared.name, variable);
    Ok(())
}

/// A value, or values in braces. `rows`: the bytes of what the braces inside of these stand for, from the outside in.
fn initializer(
    lexer: &mut Lexer,
    declared: &Parameter,
    rows: &[usize],
    data: &mut InitialData,
    pointers: &mut Vec<Pointer>,
) -> Result<(), SyntaxError> {
    if !lexer.accept(b'{')? {
        return value(lexer, declared, data, pointers);
    }
    while !lexer.accept(b'}')? {
        let start = data.end;
        let nested = lexer.peek() == Token::Mark(b'{');
        lexer.nest()?;
        initializer(lexer, declared, rows.get(1..).unwrap_or_default(), data, pointers)?;
        lexer.unnest();
        if let (true, Some(&bytes)) = (nested, rows.first()) {
            data.end = data.end.max(start + bytes);
        }
        if lexer.peek() != Token::Mark(b'}') {
            lexer.expect(b',')?;
        }
    }
    Ok(())
}

/// A number, or the address of a variable or function.
fn value(
    lexer: &mut Lexer,
    declared: &Parameter,
    data: &mut InitialData,
    pointers: &mut Vec<Pointer>,
) -> Result<(), SyntaxError> {
    let value = match lexer.peek() {
        Token::Word(word) if word != "WARP_SZ" => {
            let (name, added) = pointer(lexer)?;
            pointers.push((data.end, name, added));
            0
        }
        _ => constant(lexer, declared.element)?,
    };
    // A constant has 64 bits (PTX ISA 4.5).
    data.push(&u128::from(value).to_le_bytes()[..declared.element as usize]);
    Ok(())
}

/// `name`, `generic(name)` or either plus or minus a number.
fn pointer(lexer: &mut Lexer) -> Result<(String, u64), SyntaxError> {
    let mut name = lexer.word()?;
    if lexer.accept(b'(')? {
        name = lexer.word()?;
        lexer.expect(b')')?;
    }
    Ok((name.to_string(), offset(lexer)? as u64))
}
