//! Tokens of PTX. A `.loc` directive ends at the end of its line, not at a semicolon, and is one token.

use super::SyntaxError;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A name, directive, register or opcode: `fma.rn.f32`, `%r1`, `$L__BB0_1`, `.reg`.
    Word(&'a str),
    /// An integer, or the bits of a float.
    Number(u64),
    /// An integer with `U`.
    Unsigned(u64),
    /// A decimal number with a point or an exponent: `8.5`, `1e-5`, `.5`.
    Decimal(&'a str),
    /// `.loc file line …`: where the next instructions come from.
    Location { file: u32, line: u32 },
    /// A string without its quotes.
    Text(&'a str),
    /// One character of punctuation.
    Mark(u8),
    /// The end.
    End,
}

/// Reads tokens, with one of look-ahead.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    next: Token<'a>,
    /// How many expressions are open.
    depth: u32,
}

/// How deep expressions may be nested.
const DEPTH: u32 = 64;

impl<'a> Lexer<'a> {
    /// The module's line at the read position.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// A lexer of `text`, which begins at `line` of its module.
    pub fn new(text: &'a str, line: u32) -> Result<Self, SyntaxError> {
        let mut lexer = Self { text, at: 0, line, next: Token::End, depth: 0 };
        lexer.next = lexer.scan()?;
        Ok(lexer)
    }

    pub fn peek(&self) -> Token<'a> {
        self.next
    }

    pub fn take(&mut self) -> Result<Token<'a>, SyntaxError> {
        let token = self.next;
        self.next = self.scan()?;
        Ok(token)
    }

    /// Takes `mark` if it is next.
    pub fn accept(&mut self, mark: u8) -> Result<bool, SyntaxError> {
        let found = self.next == Token::Mark(mark);
        if found {
            self.take()?;
        }
        Ok(found)
    }

    pub fn expect(&mut self, mark: u8) -> Result<(), SyntaxError> {
        if self.accept(mark)? {
            return Ok(());
        }
        Err(self.error(format!("expected `{}`, got {:?}", char::from(mark), self.next)))
    }

    pub fn word(&mut self) -> Result<&'a str, SyntaxError> {
        match self.take()? {
            Token::Word(word) => Ok(word),
            other => Err(self.error(format!("expected a name, got {other:?}"))),
        }
    }

    pub fn number(&mut self) -> Result<u64, SyntaxError> {
        match self.take()? {
            Token::Number(number) | Token::Unsigned(number) => Ok(number),
            other => Err(self.error(format!("expected a number, got {other:?}"))),
        }
    }

    pub fn decimal(&mut self) -> Result<&'a str, SyntaxError> {
        match self.take()? {
            Token::Decimal(digits) => Ok(digits),
            other => Err(self.error(format!("expected a decimal number, got {other:?}"))),
        }
    }

    /// True if these marks are next, without a space between them.
    pub fn follows(&self, marks: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        self.next == Token::Mark(marks.as_bytes()[0]) && rest.starts_with(&marks.as_bytes()[1..])
    }

    /// True if a register's name begins behind the next token, which is a mark.
    pub fn precedes_name(&self) -> bool {
        let next = self.text.as_bytes().get(self.at);
        next.is_some_and(|&next| is_word(next) && !next.is_ascii_digit() && next != b'.') && !self.follows("-WARP_SZ")
    }

    /// Begins an expression inside another; an `Err` if there are too many.
    pub fn nest(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH { Err(self.error("an expression that is nested too deep".to_string())) } else { Ok(()) }
    }

    /// Ends it.
    pub fn unnest(&mut self) {
        self.depth -= 1;
    }

    pub fn error(&self, message: String) -> SyntaxError {
        SyntaxError { line: self.line, message }
    }

    fn scan(&mut self) -> Result<Token<'a>, SyntaxError> {
        self.skip_space()?;
        let bytes = self.text.as_bytes();
        let Some(&first) = bytes.get(self.at) else { return Ok(Token::End) };
        let start = self.at;
        let decimal = decimal_len(&bytes[start..]);
        if decimal > 0 {
            self.at += decimal;
            return Ok(Token::Decimal(&self.text[start..self.at]));
        }
        match first {
            b'0'..=b'9' => {
                let word = self.run(|byte| byte.is_ascii_alphanumeric());
                let token = if word.ends_with('U') { Token::Unsigned } else { Token::Number };
                number(word).map(token).ok_or_else(|| self.error(format!("`{word}` is not a number")))
            }
            b'"' => {
                let length = self.text[start + 1..]
                    .find('"')
                    .ok_or_else(|| self.error("a string without an end".to_string()))?;
                self.at = start + length + 2;
                Ok(Token::Text(&self.text[start + 1..=start + length]))
            }
            // Otherwise the remainder of a division.
            _ if is_word(first) && (first != b'%' || bytes.get(start + 1).is_some_and(|&next| is_word(next))) => {
                match self.qualified() {
                    ".loc" => self.location(),
                    word => Ok(Token::Word(word)),
                }
            }
            _ => {
                self.at += self.text[start..].chars().next().map_or(1, char::len_utf8);
                Ok(Token::Mark(first))
            }
        }
    }

    /// A name, which may have parts like `shared::cta` and `L2::128B`. A directive ends at the next point: `.reg.b32` is two.
    fn qualified(&mut self) -> &'a str {
        let start = self.at;
        if self.text.as_bytes()[start] == b'.' {
            self.at += 1;
            self.run(|byte| is_word(byte) && byte != b'.');
        } else {
            self.run(is_word);
        }
        while self.text[self.at..].starts_with("::")
            && self.text.as_bytes().get(self.at + 2).copied().is_some_and(is_word)
        {
            self.at += 2;
            self.run(is_word);
        }
        &self.text[start..self.at]
    }

    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        self.at += rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
        &self.text[start..self.at]
    }

    fn location(&mut self) -> Result<Token<'a>, SyntaxError> {
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        let mut words = line.split_ascii_whitespace();
        let mut number = || words.next().and_then(|word| word.parse().ok());
        match (number(), number()) {
            (Some(file), Some(line)) => Ok(Token::Location { file, line }),
            _ => Err(self.error("`.loc` names a file and a line".to_string())),
        }
    }

    fn skip_space(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                // What old compilers write for debuggers, `@@DWARF`, ends at the end of its line, too.
                Some(first @ (b'/' | b'@')) if bytes.get(self.at + 1) == Some(first) => {
                    self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
                }
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'*') => {
                    let rest = &self.text[self.at..];
                    let end = rest.find("*/").ok_or_else(|| self.error("a comment without an end".to_string()))?;
                    self.line += rest[..end].matches('\n').count() as u32;
                    self.at += end + 2;
                }
                _ => return Ok(()),
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// The length of the decimal number with a point or an exponent that `text` begins with; 0 if it begins with anything else.
fn decimal_len(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let point = text.get(whole) == Some(&b'.');
    let fraction = if point { digits(whole + 1) } else { 0 };
    if whole + fraction == 0 {
        return 0;
    }
    let mantissa = whole + usize::from(point) + fraction;
    let scaled = matches!(text.get(mantissa), Some(b'e' | b'E'));
    let sign = usize::from(scaled && matches!(text.get(mantissa + 1), Some(b'+' | b'-')));
    let exponent = if scaled { digits(mantissa + 1 + sign) } else { 0 };
    match (exponent, point) {
        // `8.b8` are a number and a type.
        (0, true) if fraction == 0 && text.get(mantissa).is_some_and(|&next| is_word(next)) => 0,
        (0, true) => mantissa,
        (0, false) => 0,
        _ => mantissa + 1 + sign + exponent,
    }
}

/// Decimal, hexadecimal, octal and binary integers, with or without `U`; `0f` and `0d` floats as their bits.
fn number(word: &str) -> Option<u64> {
    let digits = word.strip_suffix('U').unwrap_or(word);
    match word.as_bytes() {
        [b'0', b'f' | b'F' | b'd' | b'D', ..] => u64::from_str_radix(&word[2..], 16).ok(),
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16).ok(),
        [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2).ok(),
        [b'0', _, ..] if digits.len() > 1 => u64::from_str_radix(&digits[1..], 8).ok(),
        _ => digits.parse().ok(),
    }
}
