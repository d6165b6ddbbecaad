//! Parses operands of instructions.

use super::SyntaxError;
use super::expression::{Value, begins, expression, integer};
use super::lexer::{Lexer, Token};

/// An operand as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand<'a> {
    /// A register, label, variable or function.
    Name(&'a str),
    /// A register that the decoder has made itself.
    Register(u32),
    /// One element of a register that is a vector. The decoder makes these of the vector's name.
    Element(&'a str, usize),
    /// `!p`
    Not(&'a str),
    /// A number, or the bits of a float.
    Number(u64),
    /// `-a` of a video instruction.
    Negated(&'a str),
    /// `name + offset`: an address.
    Sum(&'a str, i64),
    /// `[base + offset]`; a base that is a number is an address.
    Address(Box<Operand<'a>>, i64),
    /// `[base, {x, y}]`: a place in a texture or a tensor.
    Place(Vec<Operand<'a>>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `d|p`
    Pair(&'a str, &'a str),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
}

/// An operand, in which decimal numbers are floats of `bytes` bytes.
pub fn operand<'a>(lexer: &mut Lexer<'a>, opcode: &str, bytes: u32) -> Result<Operand<'a>, SyntaxError> {
    let calls = opcode == "call" || opcode == "call.uni";
    match lexer.peek() {
        Token::Mark(b'{') => Ok(Operand::Vector(list(lexer, b'}', bytes)?)),
        // Of other instructions it is an expression.
        Token::Mark(b'(') if calls => Ok(Operand::List(list(lexer, b')', bytes)?)),
        Token::Mark(b'[') => {
            lexer.take()?;
            let base = match lexer.peek() {
                Token::Word(name) if name != "WARP_SZ" => {
                    lexer.take()?;
                    Operand::Name(name)
                }
                _ => Operand::Number(constant(lexer, bytes)?),
            };
            let offset = offset(lexer)?;
            let address = Operand::Address(Box::new(base), offset);
            if lexer.peek() == Token::Mark(b',') {
                return Ok(Operand::Place(place(lexer, address, bytes)?));
            }
            lexer.expect(b']')?;
            Ok(address)
        }
        _ => simple(lexer, bytes),
    }
}

/// What follows an address in brackets.
fn place<'a>(lexer: &mut Lexer<'a>, address: Operand<'a>, bytes: u32) -> Result<Vec<Operand<'a>>, SyntaxError> {
    let mut parts = vec![address];
    while lexer.accept(b',')? {
        let vector = lexer.peek() == Token::Mark(b'{');
        parts.push(if vector { Operand::Vector(list(lexer, b'}', bytes)?) } else { simple(lexer, bytes)? });
    }
    lexer.expect(b']')?;
    Ok(parts)
}

/// `+ number` or `- number`, or nothing.
pub fn offset(lexer: &mut Lexer) -> Result<i64, SyntaxError> {
    let negative = lexer.peek() == Token::Mark(b'-');
    if !negative && !lexer.accept(b'+')? {
        return Ok(0);
    }
    let number = integer(lexer)? as i64;
    // PTX ISA, Addresses as Operands: the offset is an integer of 32 bits.
    match u32::try_from(number.unsigned_abs()) {
        Ok(_) => Ok(number),
        Err(_) => Err(lexer.error(format!("the offset {number} has more than 32 bits"))),
    }
}

/// An operand without nested ones.
fn simple<'a>(lexer: &mut Lexer<'a>, bytes: u32) -> Result<Operand<'a>, SyntaxError> {
    match lexer.peek() {
        Token::Mark(b'-') if lexer.precedes_name() => {
            lexer.take()?;
            Ok(Operand::Negated(lexer.word()?))
        }
        _ if begins(lexer) => Ok(Operand::Number(constant(lexer, bytes)?)),
        Token::Word(word) => {
            lexer.take()?;
            match lexer.peek() {
                Token::Mark(b'|') => {
                    lexer.take()?;
                    Ok(Operand::Pair(word, lexer.word()?))
                }
                Token::Mark(b'+' | b'-') => Ok(Operand::Sum(word, offset(lexer)?)),
                _ => Ok(Operand::Name(word)),
            }
        }
        Token::Mark(b'!') => {
            lexer.take()?;
            Ok(Operand::Not(lexer.word()?))
        }
        other => Err(lexer.error(format!("expected an operand, got {other:?}"))),
    }
}

/// A constant expression. A float is rounded to `bytes` bytes, and gives its bits.
pub fn constant(lexer: &mut Lexer, bytes: u32) -> Result<u64, SyntaxError> {
    match (expression(lexer)?, bytes) {
        (Value::Float(value), 4) => Ok((value as f32).to_bits().into()),
        (Value::Float(value), 8) => Ok(value.to_bits()),
        (Value::Float(value), _) => Err(lexer.error(format!("`{value}` where no float of 32 or 64 bits is expected"))),
        (Value::Signed(value), _) => Ok(value as u64),
        (Value::Unsigned(value), _) => Ok(value),
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
