//! The types of operands, and values of each that are worth trying.

/// The type of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Pred,
    Bits(u32),
    Unsigned(u32),
    Signed(u32),
    F16,
    Bf16,
    F32,
    F64,
    F16x2,
    Bf16x2,
    F32x2,
    E4m3x2,
    E5m2x2,
    Tf32,
}

impl Type {
    /// The type of a suffix, such as `s32`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Pred,
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "f16x2" => Self::F16x2,
            "bf16x2" => Self::Bf16x2,
            "f32x2" => Self::F32x2,
            "e4m3x2" => Self::E4m3x2,
            "e5m2x2" => Self::E5m2x2,
            "tf32" => Self::Tf32,
            _ => {
                let bits = name.get(1..)?.parse().ok().filter(|bits| [8, 16, 32, 64].contains(bits))?;
                match name.as_bytes()[0] {
                    b'b' => Self::Bits(bits),
                    b'u' => Self::Unsigned(bits),
                    b's' => Self::Signed(bits),
                    _ => return None,
                }
            }
        })
    }

    /// The name that [`Self::named`] takes.
    pub fn name(self) -> String {
        match self {
            Self::Pred => "pred".to_string(),
            Self::Bits(bits) => format!("b{bits}"),
            Self::Unsigned(bits) => format!("u{bits}"),
            Self::Signed(bits) => format!("s{bits}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::Bits(bits) | Self::Unsigned(bits) | Self::Signed(bits) => bits,
            Self::F16 | Self::Bf16 | Self::E4m3x2 | Self::E5m2x2 => 16,
            Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => 32,
            Self::F64 | Self::F32x2 => 64,
        }
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Self::Bits(_) | Self::Unsigned(_) | Self::Signed(_))
    }

    pub fn is_float(self) -> bool {
        self.layout().is_some()
    }

    /// The width of its register in these tests: bytes are in words, so that the bits above them are visible.
    pub fn register(self) -> u32 {
        if self.bits() < 16 { 32 } else { self.bits() }
    }

    /// A random operand. Bits above those of the type are set too, which the instruction must ignore.
    fn random(self, random: &mut Random) -> u64 {
        random.next() & if self == Self::Pred { 1 } else { ones(self.register()) }
    }

    /// Bits of the exponent and of the fraction of one float.
    pub fn layout(self) -> Option<(u32, u32)> {
        match self {
            Self::F16 | Self::F16x2 => Some((5, 10)),
            Self::Bf16 | Self::Bf16x2 => Some((8, 7)),
            Self::F32 | Self::F32x2 => Some((8, 23)),
            Self::F64 => Some((11, 52)),
            _ => None,
        }
    }

    /// `bits` with every NaN as one, the halves of a pair on their own.
    pub fn one_nan(self, bits: u64) -> u64 {
        let Some((exponent, fraction)) = self.layout() else { return bits };
        let width = exponent + fraction + 1;
        let canonical = |float: u64| {
            let magnitude = float & ones(width - 1);
            if magnitude > ones(exponent) << fraction { ones(width - 1) } else { float }
        };
        (0..self.bits()).step_by(width as usize).map(|at| canonical(bits >> at & ones(width)) << at).sum()
    }

    /// Bits as the number that they are, where this is an integer type.
    pub fn integer(self, bits: u64) -> i128 {
        let unused = 64 - self.bits();
        match self {
            Self::Signed(_) => i128::from((bits << unused) as i64 >> unused),
            _ => i128::from(bits << unused >> unused),
        }
    }

    /// The few values that are edge cases in every combination.
    pub fn specials(self) -> Vec<u64> {
        match self.layout() {
            Some((exponent, fraction)) if exponent + fraction + 1 == self.bits() => {
                let (infinity, negative) = (ones(exponent) << fraction, 1 << (exponent + fraction));
                let magnitudes = [0, 1, ones(exponent - 1) << fraction, infinity - 1, infinity, infinity + 3];
                magnitudes.iter().flat_map(|&magnitude| [magnitude, magnitude | negative]).collect()
            }
            _ => vec![0, 1, ones(self.bits()), ones(self.bits()) >> 1],
        }
    }

    /// Values where something changes: ends, signs, rounding, powers of two.
    pub fn edges(self) -> Vec<u64> {
        match self {
            Self::Pred => vec![0, 1],
            Self::Bits(bits) | Self::Unsigned(bits) | Self::Signed(bits) => integer_edges(bits),
            Self::E4m3x2 | Self::E5m2x2 => (0..=255).map(|byte| byte << 8 | (255 - byte)).collect(),
            Self::F16x2 => pairs(&Self::F16.edges(), 16),
            Self::Bf16x2 => pairs(&Self::Bf16.edges(), 16),
            Self::F32x2 => pairs(&Self::F32.edges(), 32),
            _ => self.layout().map(|(exponent, fraction)| float_edges(exponent, fraction)).unwrap_or_default(),
        }
    }
}

/// The number whose low `count` bits are set.
pub fn ones(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

fn integer_edges(bits: u32) -> Vec<u64> {
    let powers = (0..bits).flat_map(|shift| [(1 << shift) - 1, 1 << shift, (1 << shift) + 1]);
    let mut edges: Vec<u64> = powers.chain([ones(bits), ones(bits) - 1]).map(|edge| edge & ones(bits)).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn float_edges(exponent: u32, fraction: u32) -> Vec<u64> {
    let infinity = ones(exponent) << fraction;
    let one = ones(exponent - 1) << fraction;
    let unit = 1 << fraction;
    let power = |by: i64| one.wrapping_add((by << fraction) as u64);
    let mut edges = vec![0, 1, 2, 3, unit / 2, unit / 2 + 1, unit - 1, unit, unit + 1];
    edges.extend([one - 1, one, one + 1, one + unit / 2, one + unit - 1, power(1), power(1) + unit / 2, power(2)]);
    edges.extend([infinity - unit, infinity - 2, infinity - 1, infinity, infinity + 1, infinity + unit / 2 + 3]);
    edges.extend([infinity + unit - 1, power(-1), power(-1) + unit / 2, power(-2)]);
    // Near the limits of other formats.
    for by in [-150, -149, -134, -133, -127, -126, -25, -24, -15, -14, -11, -9, -8, -7, 3, 7, 8, 9, 15, 16, 24, 31] {
        if (by + ones(exponent - 1) as i64) > 0 && by < ones(exponent - 1) as i64 {
            edges.extend([power(by) - 1, power(by), power(by) + 1, power(by) + unit / 2]);
        }
    }
    for by in [32, 63, 64, 126, 127] {
        if by < ones(exponent - 1) as i64 {
            edges.extend([power(by) - 1, power(by), power(by) + 1]);
        }
    }
    let negative = 1 << (exponent + fraction);
    edges.iter().flat_map(|&edge| [edge, edge | negative]).collect()
}

fn pairs(halves: &[u64], width: u32) -> Vec<u64> {
    let others = halves.iter().cycle().skip(7);
    halves.iter().zip(others).map(|(low, high)| high << width | low).collect()
}

/// A generator of pseudo-random numbers (Vigna's splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Tuples of operands: all combinations of edges if there are few, else a fixed sample of them, and random ones.
pub fn tuples(types: &[Type], few: usize) -> Vec<Vec<u64>> {
    let mut random = Random(types.len() as u64);
    let specials: Vec<Vec<u64>> = types.iter().map(|one| one.specials()).collect();
    let edges: Vec<Vec<u64>> = types.iter().map(|one| one.edges()).collect();
    let count = |values: &[Vec<u64>]| values.iter().map(Vec::len).product::<usize>();
    // A number encodes one combination, a digit for each operand.
    let combination = |values: &[Vec<u64>], mut number: usize| {
        let pick = |values: &Vec<u64>| {
            let value = values[number % values.len()];
            number /= values.len();
            value
        };
        values.iter().map(pick).collect::<Vec<u64>>()
    };
    let mut tuples: Vec<Vec<u64>> = (0..count(&specials).min(few)).map(|one| combination(&specials, one)).collect();
    let all = count(&edges);
    tuples
        .extend((0..all.min(few)).map(|one| combination(&edges, if all > few { random.next() as usize } else { one })));
    for _ in 0..few.min(320) {
        tuples.push(types.iter().map(|one| one.random(&mut random)).collect());
    }
    // Numbers of similar size, so that sums cancel and match products.
    let near = |one: &Type, random: &mut Random| match one.layout() {
        Some((exponent, fraction)) if fraction + exponent + 1 == one.bits() => {
            let field = ones(exponent - 1) + random.next() % 7 - 3;
            field << fraction | random.next() & (ones(fraction) | 1 << (exponent + fraction))
        }
        _ => one.random(random),
    };
    for _ in 0..few.min(320) {
        tuples.push(types.iter().map(|one| near(one, &mut random)).collect());
    }
    let rest = tuples.len().next_multiple_of(32) - tuples.len();
    tuples.extend_from_within(..rest);
    tuples
}
