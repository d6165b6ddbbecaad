//! Parses one function's body to statements. Names are not resolved.

use super::SyntaxError;
use super::declaration::{Parameter, Registers, bytes_of, named, parameter, registers};
use super::lexer::{Lexer, Token};
use super::operand::{Operand, operand};

/// A line of a source file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Source {
    /// The module's number of the file.
    pub file: u32,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The line of the PTX itself, from 1.
    pub ptx: u32,
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(&'a str),
    /// `.reg`
    Registers(Registers<'a>),
    /// The labels to which `brx.idx` goes.
    Targets(&'a str, Vec<&'a str>),
    /// `.local`, `.shared` or `.param` in a body.
    Variable(&'a str, Parameter),
    /// An instruction, with its guard and whether that is negated.
    Instruction { guard: Option<(bool, &'a str)>, opcode: &'a str, operands: Vec<Operand<'a>>, source: Source },
}

/// Parses a body, braces included, that begins at `line` of its module.
pub fn body(text: &str, line: u32) -> Result<Vec<Statement<'_>>, SyntaxError> {
    let mut lexer = Lexer::new(text, line)?;
    let mut statements = Vec::new();
    let mut source = Source::default();
    loop {
        match lexer.take()? {
            Token::End => return Ok(statements),
            Token::Location { file, line } => source = Source { file, line, ptx: 0 },
            Token::Mark(b'{') => statements.push(Statement::Open),
            Token::Mark(b'}') => statements.push(Statement::Close),
            Token::Mark(b';') => {}
            Token::Word(".callprototype" | ".calltargets" | ".branchtargets" | ".pragma") => skip(&mut lexer)?,
            Token::Mark(b'@') => {
                let negated = lexer.accept(b'!')?;
                let guard = Some((negated, lexer.word()?));
                let opcode = lexer.word()?;
                statements.push(instruction(&mut lexer, guard, opcode, source)?);
            }
            Token::Word(".reg") => statements.push(Statement::Registers(registers(&mut lexer)?)),
            Token::Word(space @ (".local" | ".shared" | ".param")) => {
                let first = parameter(&mut lexer)?;
                let (element, align) = (first.rows.last().copied().unwrap_or(first.bytes), first.align);
                statements.push(Statement::Variable(space, first));
                while lexer.accept(b',')? {
                    let next = named(&mut lexer, element, align)?;
                    statements.push(Statement::Variable(space, next));
                }
            }
            Token::Word(word) if lexer.accept(b':')? => match lexer.peek() {
                Token::Word(".branchtargets") => {
                    lexer.take()?;
                    statements.push(Statement::Targets(word, names(&mut lexer)?));
                }
                // What a call by address passes is in its operands too.
                Token::Word(".callprototype" | ".calltargets") => skip(&mut lexer)?,
                _ => statements.push(Statement::Label(word)),
            },
            Token::Word(opcode) if !opcode.starts_with('.') => {
                statements.push(instruction(&mut lexer, None, opcode, source)?);
            }
            other => return Err(lexer.error(format!("unexpected {other:?}"))),
        }
    }
}

/// Goes past the next semicolon.
fn skip(lexer: &mut Lexer) -> Result<(), SyntaxError> {
    loop {
        match lexer.take()? {
            Token::Mark(b';') => return Ok(()),
            Token::End => return Err(lexer.error("expected `;`, got End".to_string())),
            _ => {}
        }
    }
}

/// Names up to a semicolon.
fn names<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<&'a str>, SyntaxError> {
    let mut names = vec![lexer.word()?];
    while lexer.accept(b',')? {
        names.push(lexer.word()?);
    }
    Ok(names)
}

fn instruction<'a>(
    lexer: &mut Lexer<'a>,
    guard: Option<(bool, &'a str)>,
    opcode: &'a str,
    source: Source,
) -> Result<Statement<'a>, SyntaxError> {
    let source = Source { ptx: lexer.line(), ..source };
    let floats = opcode.rsplit('.').find(|part| part.starts_with('f'));
    // The fraction of accesses that a policy is for is a number in single precision.
    let other = if opcode.starts_with("createpolicy") { 4 } else { 0 };
    let bytes = floats.and_then(bytes_of).unwrap_or(other);
    let mut operands = Vec::new();
    while !lexer.accept(b';')? {
        operands.push(operand(lexer, opcode, bytes)?);
        if lexer.peek() != Token::Mark(b';') {
            lexer.expect(b',')?;
        }
    }
    Ok(Statement::Instruction { guard, opcode, operands, source })
}
