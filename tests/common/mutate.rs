//! Mutants of files and texts: what disks, other tools and attackers make of them.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// A number below `bound`, or 0.
pub fn below(rng: &mut Pcg64Mcg, bound: usize) -> usize {
    rng.next_u64() as usize % bound.max(1)
}

/// One of these.
pub fn one_of<'a, T: ?Sized>(rng: &mut Pcg64Mcg, of: &[&'a T]) -> &'a T {
    of[below(rng, of.len())]
}

/// `content` with damage; `others` are contents of other files.
pub fn damaged(rng: &mut Pcg64Mcg, content: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut content = content.to_vec();
    let at = below(rng, content.len());
    match rng.next_u64() % 8 {
        0..2 => content.truncate(at),
        2..5 => {
            if let Some(byte) = content.get_mut(at) {
                *byte ^= 1 << (rng.next_u64() % 8);
            }
        }
        5 => content[at..].fill(0),
        6 => content.clone_from(&others[below(rng, others.len())]),
        _ => content = (0..at).map(|_| rng.next_u64() as u8).collect(),
    }
    content
}

/// Numbers that make sums and products of sizes overflow, and texts that are not numbers.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1",
    "65536",
    "2147483648",
    "4611686018427387904",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "nan",
];

/// Sequences with a meaning for terminals, Markdown, CI, paths or shells, escaped as in TOML and JSON.
pub const TEXTS: [&str; 8] = [
    r"\u001b]0;title\u0007\u001b[2J",
    r"\u0000",
    r"\n```\n# heading",
    r"\n::error::red",
    r"../../../etc/passwd",
    r"<script>alert(1)</script>",
    r"$(touch hacked); `id`",
    r"\u202e|\r",
];

/// `text` after a few hostile edits: numbers, words in quotes, lists and lines.
pub fn hostile(rng: &mut Pcg64Mcg, text: &str) -> String {
    (0..=below(rng, 3)).fold(text.to_string(), |text, _| edited(rng, &text))
}

fn edited(rng: &mut Pcg64Mcg, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (at, other) = (below(rng, lines.len()), below(rng, lines.len()));
    let Some(line) = lines.get(at).cloned() else { return String::new() };
    match rng.next_u64() % 8 {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, line),
        2 => lines.swap(at, other),
        3 => lines[at] = line.chars().take(below(rng, line.len())).collect(),
        4 => {
            let with = one_of(rng, &TEXTS);
            return replaced(rng, text, |letter| letter == '"', &format!("\"{with}"));
        }
        5 => {
            let depth = 10_usize.pow(below(rng, 5) as u32);
            let nested = format!("{}{}", "[".repeat(depth), "]".repeat(below(rng, 2) * depth));
            return replaced(rng, text, |letter| letter == '[', &nested);
        }
        _ => return with_number(rng, text),
    }
    lines.join("\n") + "\n"
}

/// `text` with something in place of one of the letters that match.
fn replaced(rng: &mut Pcg64Mcg, text: &str, matches: fn(char) -> bool, with: &str) -> String {
    let all: Vec<usize> = text.char_indices().filter(|(_, letter)| matches(*letter)).map(|(at, _)| at).collect();
    let Some(&at) = all.get(below(rng, all.len())) else { return text.to_string() };
    format!("{}{with}{}", &text[..at], &text[at + 1..])
}

/// `text` with an extreme number in place of one of its numbers.
fn with_number(rng: &mut Pcg64Mcg, text: &str) -> String {
    let is_digit = |at: usize| text.as_bytes()[at].is_ascii_digit();
    let starts: Vec<usize> = (0..text.len()).filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1))).collect();
    let Some(&start) = starts.get(below(rng, starts.len())) else { return text.to_string() };
    let end = (start..text.len()).find(|&at| !is_digit(at)).unwrap_or(text.len());
    format!("{}{}{}", &text[..start], one_of(rng, &NUMBERS), &text[end..])
}
