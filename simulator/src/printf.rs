//! `printf` in kernels: what a conversion takes, and how C writes it.

use sprintf::{Printf, vsprintf};

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    Conversion(Conversion),
}

/// A conversion, such as `%-5.2f`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// The conversion without a length: the value has its type.
    specification: String,
    /// How many of its width and precision are `*`, and so are numbers before the value.
    pub stars: usize,
    pub value: Value,
}

/// What a conversion writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A signed number of this many bytes; those of fewer than four are in four.
    Signed(u8),
    /// An unsigned number.
    Unsigned(u8),
    Double,
    Character,
    Text,
    Pointer,
}

impl Value {
    /// The bytes that it takes of the arguments.
    pub fn bytes(self) -> u8 {
        match self {
            Self::Signed(8) | Self::Unsigned(8) | Self::Double | Self::Text | Self::Pointer => 8,
            Self::Signed(_) | Self::Unsigned(_) | Self::Character => 4,
        }
    }
}

/// The parts of a format. What is no conversion of C is text.
pub fn parts(format: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest) = (Vec::new(), format);
    while let Some(start) = rest.find('%') {
        let (before, from) = rest.split_at(start);
        parts.extend(Some(before).filter(|text| !text.is_empty()).map(Part::Text));
        let (part, length) = match conversion(from) {
            Some((conversion, length)) => (Part::Conversion(conversion), length),
            None if from.starts_with("%%") => (Part::Text("%"), 2),
            None => (Part::Text("%"), 1),
        };
        parts.push(part);
        rest = &from[length..];
    }
    parts.extend(Some(rest).filter(|text| !text.is_empty()).map(Part::Text));
    parts
}

/// The conversion at the beginning of a text, and its length.
fn conversion(text: &str) -> Option<(Conversion, usize)> {
    let width = text[1..].find(|c: char| !"-+ #0123456789.*".contains(c))? + 1;
    let length = text[width..].find(|c: char| !"hljztL".contains(c))? + width;
    let letter = text[length..].chars().next()?;
    let bytes = match &text[width..length] {
        "hh" => 1,
        "h" => 2,
        "l" | "ll" | "j" | "z" | "t" => 8,
        _ => 4,
    };
    let value = match letter {
        'd' | 'i' => Value::Signed(bytes),
        'u' | 'o' | 'x' | 'X' => Value::Unsigned(bytes),
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => Value::Double,
        'c' => Value::Character,
        's' => Value::Text,
        'p' => Value::Pointer,
        _ => return None,
    };
    // The crate knows no binary form of hexadecimal floats: a short decimal one stands for it.
    let written = match letter {
        'p' => "#x".to_owned(),
        'a' | 'A' => "e".to_owned(),
        'F' => "f".to_owned(),
        letter => letter.to_string(),
    };
    let specification = format!("{}{written}", &text[..width]);
    let stars = specification.matches('*').count();
    Some((Conversion { specification, stars, value }, length + 1))
}

impl Conversion {
    /// Writes a value, whose bits are `bits`; `text` is what a pointer to text points to.
    pub fn write(&self, stars: &[i32], bits: u64, text: &str) -> String {
        let double = f64::from_bits(bits);
        let (signed, unsigned, character);
        let value: &dyn Printf = match self.value {
            Value::Signed(bytes) => {
                let unused = 64 - 8 * u32::from(bytes);
                // The crate takes the absolute value, which the least number has not.
                signed = ((bits << unused) as i64 >> unused).max(-i64::MAX);
                &signed
            }
            Value::Unsigned(bytes) => {
                let unused = 64 - 8 * u32::from(bytes);
                unsigned = bits << unused >> unused;
                &unsigned
            }
            Value::Pointer => {
                unsigned = bits;
                &unsigned
            }
            Value::Double => &double,
            Value::Character => {
                character = char::from(bits as u8);
                &character
            }
            Value::Text => &text,
        };
        let args: Vec<&dyn Printf> = stars.iter().map(|star| star as &dyn Printf).chain([value]).collect();
        vsprintf(&self.specification, &args).unwrap_or_else(|_| self.specification.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    /// What C writes for a format and the bits of one argument.
    fn written(format: &str, bits: u64) -> String {
        let part = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Conversion(conversion) => conversion.write(&[6][..conversion.stars], bits, "text"),
        };
        parts(format).into_iter().map(part).collect()
    }

    #[test]
    fn a_value_is_written_as_c_does() {
        for (format, bits, expected) in [
            ("plain", 0, "plain"),
            ("%d|", 0xffff_fff6, "-10|"),
            ("%5d|%-5d|%05d", 42, "   42|42   |00042"),
            ("%hhd", 0x1ff, "-1"),
            ("%ld", u64::MAX, "-1"),
            ("%u %x %X %#x %o", 255, "255 ff FF 0xff 377"),
            ("%llu", u64::MAX, "18446744073709551615"),
            ("%f %.2f %8.3f|", 1.5_f64.to_bits(), "1.500000 1.50    1.500|"),
            ("%e %g", 1.5_f64.to_bits(), "1.500000e+00 1.5"),
            ("%f", f64::INFINITY.to_bits(), "inf"),
            ("%c%%", 65, "A%"),
            ("<%s>", 0, "<text>"),
            ("%p", 0x1000, "0x1000"),
            ("%*d|", 7, "     7|"),
            ("100%, %k", 0, "100%, %k"),
            ("%", 0, "%"),
        ] {
            assert_eq!(written(format, bits), expected, "{format}");
        }
    }
}
