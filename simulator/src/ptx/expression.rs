//! Constant expressions (PTX ISA 4.5, 4.6): integers of 64 bits with every operator, and decimal floats.

use std::cmp::Ordering;

use super::SyntaxError;
use super::lexer::{Lexer, Token};
use crate::lanes::WARP;

/// The value of an expression.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// `.s64`: most integers.
    Signed(i64),
    /// `.u64`: integers with `U`, and those beyond 63 bits.
    Unsigned(u64),
    /// `.f64`
    Float(f64),
}

impl Value {
    /// The bits of an integer.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Signed(value) => Some(value as u64),
            Self::Unsigned(value) => Some(value),
            Self::Float(_) => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Signed(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    fn holds(self) -> bool {
        self.float() != 0.0
    }
}

impl From<bool> for Value {
    fn from(holds: bool) -> Self {
        Self::Signed(holds.into())
    }
}

/// The binary operators, those that bind most first.
const LEVELS: [&[&str]; 10] = [
    &["*", "/", "%"],
    &["+", "-"],
    &["<<", ">>"],
    &["<=", ">=", "<", ">"],
    &["==", "!="],
    &["&"],
    &["^"],
    &["|"],
    &["&&"],
    &["||"],
];

/// True if an expression begins here.
pub fn begins(lexer: &Lexer) -> bool {
    matches!(
        lexer.peek(),
        Token::Number(_)
            | Token::Unsigned(_)
            | Token::Decimal(_)
            | Token::Mark(b'-' | b'+' | b'~' | b'(')
            | Token::Word("WARP_SZ")
    )
}

/// An expression.
pub fn expression(lexer: &mut Lexer) -> Result<Value, SyntaxError> {
    let condition = binary(lexer, LEVELS.len())?;
    if !lexer.accept(b'?')? {
        return Ok(condition);
    }
    let first = expression(lexer)?;
    lexer.expect(b':')?;
    let second = expression(lexer)?;
    Ok(if condition.holds() { first } else { second })
}

/// An expression of integers.
pub fn integer(lexer: &mut Lexer) -> Result<u64, SyntaxError> {
    let value = expression(lexer)?;
    value.integer().ok_or_else(|| lexer.error(format!("`{}` where an integer is expected", value.float())))
}

/// Operands and operators of the levels below `level`.
fn binary(lexer: &mut Lexer, level: usize) -> Result<Value, SyntaxError> {
    let mut value = unary(lexer)?;
    while let Some((own, operator)) = operator(lexer).filter(|(own, _)| *own < level) {
        for _ in 0..operator.len() {
            lexer.take()?;
        }
        let right = binary(lexer, own)?;
        value = apply(operator, value, right).ok_or_else(|| lexer.error(format!("`{operator}` of these numbers")))?;
    }
    Ok(value)
}

/// The operator that is next, and its level: `&&`, not the `&` that it begins with.
fn operator(lexer: &Lexer) -> Option<(usize, &'static str)> {
    let Token::Mark(_) = lexer.peek() else { return None };
    let of_level =
        |(level, operators): (usize, &&'static [&'static str])| operators.iter().map(move |own| (level, *own));
    let following = LEVELS.iter().enumerate().flat_map(of_level).filter(|(_, operator)| lexer.follows(operator));
    following.max_by_key(|(_, operator)| operator.len())
}

fn unary(lexer: &mut Lexer) -> Result<Value, SyntaxError> {
    lexer.nest()?;
    let value = operand(lexer);
    lexer.unnest();
    value
}

fn operand(lexer: &mut Lexer) -> Result<Value, SyntaxError> {
    Ok(match lexer.take()? {
        Token::Number(number) => i64::try_from(number).map_or(Value::Unsigned(number), Value::Signed),
        Token::Unsigned(number) => Value::Unsigned(number),
        Token::Decimal(digits) => {
            Value::Float(digits.parse().map_err(|_| lexer.error(format!("`{digits}` is not a number")))?)
        }
        Token::Word("WARP_SZ") => Value::Signed(WARP as i64),
        Token::Mark(b'+') => unary(lexer)?,
        Token::Mark(b'-') => match unary(lexer)? {
            Value::Signed(value) => Value::Signed(value.wrapping_neg()),
            Value::Unsigned(value) => Value::Unsigned(value.wrapping_neg()),
            Value::Float(value) => Value::Float(-value),
        },
        Token::Mark(b'~') => match unary(lexer)? {
            Value::Signed(value) => Value::Signed(!value),
            Value::Unsigned(value) => Value::Unsigned(!value),
            Value::Float(_) => return Err(lexer.error("`~` of a float".to_string())),
        },
        Token::Mark(b'!') => (!unary(lexer)?.holds()).into(),
        Token::Mark(b'(') => match lexer.peek() {
            Token::Word(cast @ (".s64" | ".u64")) => {
                lexer.take()?;
                lexer.expect(b')')?;
                let bits = unary(lexer)?.integer().ok_or_else(|| lexer.error("a cast of a float".to_string()))?;
                if cast == ".s64" { Value::Signed(bits as i64) } else { Value::Unsigned(bits) }
            }
            _ => {
                let value = expression(lexer)?;
                lexer.expect(b')')?;
                value
            }
        },
        other => return Err(lexer.error(format!("expected a number, got {other:?}"))),
    })
}

/// What an operator makes of two numbers: `None` for a division by zero, and where it has no meaning.
fn apply(operator: &str, left: Value, right: Value) -> Option<Value> {
    use Value::{Float, Signed, Unsigned};
    match operator {
        "&&" => return Some((left.holds() && right.holds()).into()),
        "||" => return Some((left.holds() || right.holds()).into()),
        // The type of a shift is that of its first operand (4.6.2).
        "<<" | ">>" => {
            let by = u32::try_from(right.integer()?).ok().filter(|&by| by < 64);
            return Some(match (left, operator) {
                (Signed(value), "<<") => Signed(by.map_or(0, |by| value << by)),
                (Unsigned(value), "<<") => Unsigned(by.map_or(0, |by| value << by)),
                (Signed(value), _) => Signed(value >> by.unwrap_or(63)),
                (Unsigned(value), _) => Unsigned(by.map_or(0, |by| value >> by)),
                (Float(_), _) => return None,
            });
        }
        _ => {}
    }
    match (left, right) {
        (Float(_), _) | (_, Float(_)) => {
            let (left, right) = (left.float(), right.float());
            Some(match operator {
                "*" => Float(left * right),
                "/" => Float(left / right),
                "+" => Float(left + right),
                "-" => Float(left - right),
                _ => compared(operator, left.partial_cmp(&right))?,
            })
        }
        (Signed(left), Signed(right)) => Some(match operator {
            "*" => Signed(left.wrapping_mul(right)),
            "/" => Signed(left.checked_div(right)?),
            "%" => Signed(left.checked_rem(right)?),
            "+" => Signed(left.wrapping_add(right)),
            "-" => Signed(left.wrapping_sub(right)),
            "&" => Signed(left & right),
            "^" => Signed(left ^ right),
            "|" => Signed(left | right),
            _ => compared(operator, Some(left.cmp(&right)))?,
        }),
        _ => {
            let (left, right) = (left.integer()?, right.integer()?);
            Some(match operator {
                "*" => Unsigned(left.wrapping_mul(right)),
                "/" => Unsigned(left.checked_div(right)?),
                "%" => Unsigned(left.checked_rem(right)?),
                "+" => Unsigned(left.wrapping_add(right)),
                "-" => Unsigned(left.wrapping_sub(right)),
                "&" => Unsigned(left & right),
                "^" => Unsigned(left ^ right),
                "|" => Unsigned(left | right),
                _ => compared(operator, Some(left.cmp(&right)))?,
            })
        }
    }
}

fn compared(operator: &str, order: Option<Ordering>) -> Option<Value> {
    let holds = |test: fn(Ordering) -> bool| order.is_some_and(test);
    Some(Value::from(match operator {
        "<" => holds(Ordering::is_lt),
        "<=" => holds(Ordering::is_le),
        ">" => holds(Ordering::is_gt),
        ">=" => holds(Ordering::is_ge),
        "==" => holds(Ordering::is_eq),
        "!=" => !holds(Ordering::is_eq),
        _ => return None,
    }))
}
