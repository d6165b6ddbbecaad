//! Forms that are others with something before or after them: saturation, flushed halves, a comparison that is combined with a
//! predicate. And forms that are others by another name.

use super::{Action, Comparison, Flushes, Form, Fusion, Step, form, in_table, video};

/// The form of a name that the table does not have.
pub(super) fn derived(name: &str) -> Option<Form> {
    let words: Vec<&str> = name.split('.').collect();
    match words[0] {
        "setp" | "set" => compared(&words),
        first if first.starts_with('v') => video::form(name),
        _ => renamed(name, &words).and_then(|name| form(&name)).or_else(|| limited(&words)).or_else(|| flushed(&words)),
    }
}

/// The name of a form that does the same.
fn renamed(name: &str, words: &[&str]) -> Option<String> {
    let last = words.last().copied()?;
    match words[0] {
        // Since compute capability 2.0 both round once (9.7.3.7).
        "mad" if ["f32", "f64"].contains(&last) => Some(name.replacen("mad", "fma", 1)),
        // Addresses of other spaces have 32 bits, and generic ones fit.
        "cvta" if last == "u32" => Some(name.replacen(".u32", ".u64", 1)),
        // A load of what no thread writes.
        "ldu" => Some(name.replacen("ldu", "ld", 1)),
        _ => None,
    }
}

/// The words without one of them.
fn without(words: &[&str], word: &str) -> Option<String> {
    let at = words.iter().position(|known| *known == word)?;
    Some([&words[..at], &words[at + 1..]].concat().join("."))
}

/// A form with `.sat`: the result is limited to 0 and 1 afterwards.
fn limited(words: &[&str]) -> Option<Form> {
    if !["add", "sub", "mul", "fma", "mad", "cvt"].contains(&words[0]) {
        return None;
    }
    let base = form(&without(words, "sat")?)?;
    let is_integer = |word: &str| word.starts_with(['u', 's']) && word[1..].parse::<u32>().is_ok();
    let of = words[1..]
        .iter()
        .find(|word| word.starts_with(['f', 'b']) && word.ends_with(|last: char| last.is_ascii_digit()));
    let limit = match *of? {
        // A conversion to an integer saturates without it, too.
        _ if words[0] == "cvt" && words.len() > 2 && is_integer(words[words.len() - 2]) => {
            return of.filter(|of| words.last() == Some(of)).map(|_| base);
        }
        "f32" => Step::Limit,
        "f64" if words[0] == "cvt" => Step::LimitDouble,
        "f16" => Step::LimitHalf,
        "bf16" => Step::LimitBf16,
        _ => return None,
    };
    let fusion = base.fusion.filter(|fusion| matches!(fusion, Fusion::Sum(..)));
    Some(Form { limit: Some(limit), fusion, ..base })
}

/// A form of halves or pairs with `.ftz`.
fn flushed(words: &[&str]) -> Option<Form> {
    if !["add", "sub", "mul", "fma", "neg", "abs", "min", "max"].contains(&words[0]) {
        return None;
    }
    let by = match *words.last()? {
        "f16" => Step::FlushHalf,
        "f16x2" => Step::FlushHalves,
        "f32x2" => Step::FlushPair,
        _ => return None,
    };
    let base = form(&without(words, "ftz")?)?;
    Some(Form { flushes: Flushes { sources: true, result: true, by }, fusion: None, ..base })
}

/// `setp` and `set` that combine their result with a predicate, compare two halves at once, or write 16 bits.
fn compared(words: &[&str]) -> Option<Form> {
    let [kind, test, rest @ ..] = words else { return None };
    let (combine, rest) = match rest {
        [word @ ("and" | "or" | "xor"), rest @ ..] => (Some(*word), rest),
        _ => (None, rest),
    };
    let (ftz, rest) = match rest {
        ["ftz", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let (to, of) = match (*kind, rest) {
        ("setp", [of]) => (None, *of),
        ("set", [to, of]) => (Some(*to), *of),
        _ => return None,
    };
    let single = of.strip_suffix("x2").unwrap_or(of);
    let is_half = ["f16", "bf16"].contains(&single);
    if ftz && !["f32", "f16"].contains(&single) {
        return None;
    }
    let truth = match to {
        None => None,
        Some("u32" | "s32") if single != of => Some(0xffff),
        Some("u32" | "s32") => Some(0xffff_ffff),
        Some("u16" | "s16") if is_half => Some(0xffff),
        Some("f32") if !is_half => Some(0x3f80_0000),
        Some("f16" | "f16x2") => Some(0x3c00),
        Some("bf16" | "bf16x2") => Some(0x3f80),
        Some(_) => return None,
    };
    let base = in_table(&format!("setp.{test}.{single}"))?;
    let Action::Two(test) = base.action else { return None };
    let by = if single == "f16" { Step::FlushHalf } else { Step::Flush };
    let combine = combine.map(|word| match word {
        "and" => "and.pred",
        "or" => "or.pred",
        _ => "xor.pred",
    });
    let comparison = Comparison { test, pair: single != of, combine, truth };
    let flushes = Flushes { sources: ftz, result: false, by };
    Some(Form { action: Action::Compare(comparison), flushes, ..base })
}
