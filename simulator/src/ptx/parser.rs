//! Parses one function's body to statements. Names are not resolved.

use super::SyntaxError;
use super::lexer::{Lexer, Token};

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
}

/// An operand as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'a> {
    /// A register, label, variable or function.
    Name(&'a str),
    /// `!p`
    Not(&'a str),
    /// A number, or the bits of a float.
    Number(u64),
    /// `[base + offset]`; a base that is a number is an address.
    Address(Box<Operand<'a>>, i64),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `d|p`
    Pair(&'a str, &'a str),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
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
    /// `.reg`: whether they are predicates, and names, or a prefix and a count.
    Registers(bool, Vec<(&'a str, Option<u32>)>),
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
            // What a call by address passes is in its operands too.
            Token::Word(".callprototype" | ".calltargets") => {
                while !lexer.accept(b';')? {
                    lexer.take()?;
                }
            }
            Token::Mark(b'@') => {
                let negated = lexer.accept(b'!')?;
                let guard = Some((negated, lexer.word()?));
                let opcode = lexer.word()?;
                statements.push(instruction(&mut lexer, guard, opcode, source)?);
            }
            // Inline assembly writes `.reg.b32` in one word.
            Token::Word(word) if word == ".reg" || word.starts_with(".reg.") => statements.push(registers(&mut lexer)?),
            Token::Word(space @ (".local" | ".shared" | ".param")) => {
                statements.push(Statement::Variable(space, parameter(&mut lexer)?));
            }
            Token::Word(".pragma") => {
                lexer.take()?;
            }
            Token::Word(word) if lexer.accept(b':')? => statements.push(Statement::Label(word)),
            Token::Word(opcode) if !opcode.starts_with('.') => {
                statements.push(instruction(&mut lexer, None, opcode, source)?);
            }
            other => return Err(lexer.error(format!("unexpected {other:?}"))),
        }
    }
}

/// `[.align n] .type name[size]`, after the space.
pub fn parameter(lexer: &mut Lexer) -> Result<Parameter, SyntaxError> {
    let mut align = None;
    let (mut element, mut vector) = (0, 1);
    loop {
        match lexer.word()? {
            ".align" => align = Some(lexer.number()? as u32),
            ".ptr" | ".global" => {}
            ".v2" => vector = 2,
            ".v4" => vector = 4,
            word if word.starts_with('.') => {
                element = bytes_of(word).ok_or_else(|| lexer.error(format!("`{word}` is not a type")))?;
            }
            name => {
                let mut bytes = element * vector;
                if lexer.accept(b'[')? {
                    bytes = if lexer.peek() == Token::Mark(b']') { 0 } else { size(lexer, element)? };
                    lexer.expect(b']')?;
                }
                let align = align.unwrap_or(element * vector).max(1);
                return Ok(Parameter { name: name.to_string(), element, bytes, align });
            }
        }
    }
}

fn size(lexer: &mut Lexer, element: u32) -> Result<u32, SyntaxError> {
    let count = lexer.number()?;
    let bytes = u64::from(element).checked_mul(count).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| lexer.error(format!("an array of {count} elements")))
}

fn bytes_of(suffix: &str) -> Option<u32> {
    let digits = suffix.trim_start_matches(|c: char| !c.is_ascii_digit());
    match digits {
        "8" => Some(1),
        "16" => Some(2),
        "32" | "16x2" => Some(4),
        "64" => Some(8),
        _ => None,
    }
}

fn registers<'a>(lexer: &mut Lexer<'a>) -> Result<Statement<'a>, SyntaxError> {
    // Other types are redundant: instructions have theirs.
    let mut predicates = false;
    while let Token::Word(word) = lexer.peek()
        && word.starts_with('.')
    {
        predicates |= word == ".pred";
        lexer.take()?;
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
            return Ok(Statement::Registers(predicates, names));
        }
    }
}

fn instruction<'a>(
    lexer: &mut Lexer<'a>,
    guard: Option<(bool, &'a str)>,
    opcode: &'a str,
    source: Source,
) -> Result<Statement<'a>, SyntaxError> {
    let source = Source { ptx: lexer.line(), ..source };
    let floats = opcode.rsplit('.').find(|part| part.starts_with('f'));
    let bytes = floats.and_then(bytes_of).unwrap_or(0);
    let mut operands = Vec::new();
    while !lexer.accept(b';')? {
        operands.push(operand(lexer, bytes)?);
        if lexer.peek() != Token::Mark(b';') {
            lexer.expect(b',')?;
        }
    }
    Ok(Statement::Instruction { guard, opcode, operands, source })
}

/// An operand, in which decimal numbers are floats of `bytes` bytes.
fn operand<'a>(lexer: &mut Lexer<'a>, bytes: u32) -> Result<Operand<'a>, SyntaxError> {
    match lexer.peek() {
        Token::Mark(b'{') => Ok(Operand::Vector(list(lexer, b'}', bytes)?)),
        Token::Mark(b'(') => Ok(Operand::List(list(lexer, b')', bytes)?)),
        Token::Mark(b'[') => {
            lexer.take()?;
            let base = simple(lexer, bytes)?;
            let mut offset = 0;
            if lexer.accept(b'+')? {
                let negative = lexer.accept(b'-')?;
                let number = lexer.number()?;
                // PTX ISA, Addresses as Operands: the offset is an integer of 32 bits.
                let number = u32::try_from(number)
                    .map_err(|_| lexer.error(format!("the offset {number} has more than 32 bits")))?;
                offset = if negative { -i64::from(number) } else { number.into() };
            }
            lexer.expect(b']')?;
            Ok(Operand::Address(Box::new(base), offset))
        }
        _ => simple(lexer, bytes),
    }
}

/// An operand without nested ones.
fn simple<'a>(lexer: &mut Lexer<'a>, bytes: u32) -> Result<Operand<'a>, SyntaxError> {
    match lexer.peek() {
        Token::Word(word) => {
            lexer.take()?;
            Ok(if lexer.accept(b'|')? { Operand::Pair(word, lexer.word()?) } else { Operand::Name(word) })
        }
        Token::Mark(b'!') => {
            lexer.take()?;
            Ok(Operand::Not(lexer.word()?))
        }
        Token::Number(_) | Token::Decimal(_) | Token::Mark(b'-') => Ok(Operand::Number(constant(lexer, bytes)?)),
        other => Err(lexer.error(format!("expected an operand, got {other:?}"))),
    }
}

/// A number with or without a sign. A decimal number is rounded to a float of `bytes` bytes, and gives its bits.
pub fn constant(lexer: &mut Lexer, bytes: u32) -> Result<u64, SyntaxError> {
    let negative = lexer.accept(b'-')?;
    let Token::Decimal(digits) = lexer.peek() else {
        let number = lexer.number()?;
        return Ok(if negative { number.wrapping_neg() } else { number });
    };
    lexer.take()?;
    let magnitude: f64 = digits.parse().map_err(|_| lexer.error(format!("`{digits}` is not a number")))?;
    let value = if negative { -magnitude } else { magnitude };
    match bytes {
        4 => Ok((value as f32).to_bits().into()),
        8 => Ok(value.to_bits()),
        _ => Err(lexer.error(format!("`{digits}` where no float of 32 or 64 bits is expected"))),
    }
}

/// Simple operands between the next mark and `end`.
fn list<'a>(lexer: &mut Lexer<'a>, end: u8, bytes: u32) -> Result<Vec<Operand<'a>>, SyntaxError> {
    lexer.take()?;
    let mut operands = Vec::new();
    while !lexer.accept(end)? {
        operands.push(simple(lexer, bytes)?);
        if lexer.peek() != Token::Mark(end) {
            lexer.expect(b',')?;
        }
    }
    Ok(operands)
}
