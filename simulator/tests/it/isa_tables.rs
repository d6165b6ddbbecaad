//! The forms of the PTX ISA's tables (`tests/forms`), each in a kernel of its own: which are parsed, run, and have an oracle. Writes the
//! table of docs/support.md.
//!
//! A line of such a file is a pattern for names and the operands. `(a|b)` is one of several, `[x]` is x or nothing, `<a>` what the line
//! `a = …` says. In operands, a letter stands for a register: `T` of the name's last type, `U` of the one before, `W` of twice as many bits,
//! `b h r l q` of 8 to 128 bits, `p` a predicate. `%g %s %o %a` are addresses in global, shared and local memory, and where the name says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use simulator::{Device, Kind};

use crate::machine::{HEADER, Shape, device, upload};
use crate::oracle;
use crate::passes::{files, folder};

/// A section of the ISA.
pub struct Section {
    pub title: String,
    pub forms: Vec<Form>,
}

/// A name and operands.
#[derive(Clone)]
pub struct Form {
    pub name: String,
    operands: String,
}

/// How far a form gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Unknown,
    Parsed,
    Run,
    Compared,
}

/// All sections, in the order of their files' names.
pub fn sections() -> Vec<Section> {
    files("forms").into_iter().filter(|(file, _)| file != "unsupported.txt").map(|(_, text)| section(&text)).collect()
}

/// The names of all forms, each once.
pub fn names() -> BTreeSet<String> {
    sections().into_iter().flat_map(|section| section.forms).map(|form| form.name).collect()
}

fn section(text: &str) -> Section {
    let mut lists: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut title, mut forms) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("# ") {
            title = named.to_string();
        } else if let Some((name, list)) = line.split_once(" = ") {
            lists.insert(name, list);
        } else if !line.is_empty() {
            let (pattern, operands) = line.split_once(' ').unwrap_or((line, ""));
            let pattern = lists.iter().fold(pattern.to_string(), |text, (name, list)| {
                text.replace(&format!("<{name}>"), &format!("({list})"))
            });
            forms.extend(expand(&pattern).into_iter().map(|name| Form { name, operands: operands.trim().to_string() }));
        }
    }
    Section { title, forms }
}

/// All texts that a pattern stands for.
fn expand(pattern: &str) -> Vec<String> {
    let Some(start) = pattern.find(['(', '[']) else { return vec![pattern.to_string()] };
    let (before, rest) = pattern.split_at(start);
    let (mut depth, mut begin, mut end) = (0, 1, rest.len());
    let mut choices = if rest.starts_with('[') { vec![String::new()] } else { Vec::new() };
    for (at, character) in rest.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && character == '|' {
            choices.extend(expand(&rest[begin..at]));
            begin = at + 1;
        }
        if depth == 0 {
            end = at + 1;
            break;
        }
    }
    let after = expand(&rest[end..]);
    choices.iter().flat_map(|choice| after.iter().map(move |after| format!("{before}{choice}{after}"))).collect()
}

/// The letter of the register for a type; `None` if this is no type.
fn letter(part: &str) -> Option<char> {
    let bits = match part {
        "pred" => return Some('p'),
        "tf32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" => 32,
        "f32x2" => 64,
        "bf16" => 16,
        _ if part.starts_with(['b', 'u', 's', 'f']) => part[1..].parse().ok()?,
        _ => return None,
    };
    // A byte is in a word, so that it can be extended.
    Some(match bits {
        16 => 'h',
        8 | 32 => 'r',
        64 => 'l',
        _ => return None,
    })
}

/// The register of an address, in the space of which the name speaks.
fn address<'a>(place: &'a str, name: &str) -> &'a str {
    match (place, name.contains("shared"), name.contains("local")) {
        ("%s", false, _) => "%w",
        ("%a", true, _) => "%s",
        ("%a", _, true) => "%o",
        ("%a", ..) => "%g",
        _ => place,
    }
}

impl Form {
    /// Its operands, each with a register of its own.
    fn operands(&self) -> String {
        let mut types = self.name.split('.').rev().filter_map(letter);
        let (last, before) = (types.next().unwrap_or('r'), types.next().unwrap_or('r'));
        let (mut text, mut count) = (String::new(), 0);
        for word in self.operands.split_inclusive(|last: char| !last.is_ascii_alphanumeric() && !"%_".contains(last)) {
            let (word, mark) = word.split_at(
                word.trim_end_matches(|last: char| !last.is_ascii_alphanumeric() && !"%_".contains(last)).len(),
            );
            let register = match word {
                "T" => last,
                "U" => before,
                "W" => {
                    if last == 'h' {
                        'r'
                    } else {
                        'l'
                    }
                }
                "b" | "h" | "r" | "l" | "q" | "p" => word.chars().next().expect("a letter"),
                _ => {
                    text += address(word, &self.name);
                    text += mark;
                    continue;
                }
            };
            let _ = write!(text, "%{register}{count}{mark}");
            count += 1;
        }
        text
    }

    /// A kernel that executes it.
    fn kernel(&self, number: usize) -> String {
        let line = format!("{} {};", self.name, self.operands());
        format!(
            ".visible .entry k{number}(.param .u64 buffer, .param .align 32 .b8 given[64])\n{{\n\
             .reg .pred %p<40>;\n.reg .b8 %b<40>;\n.reg .b16 %h<40>;\n.reg .b32 %r<40>;\n.reg .b64 %l<40>;\n.reg .b128 %q<40>;\n\
             .reg .b32 %s, %o;\n.reg .b64 %g, %w;\n.param .b64 passed;\n\
             .shared .align 128 .b8 cells[4096];\n.local .align 32 .b8 own[64];\n\
             ld.param.u64 %g, [buffer];\nmov.u32 %s, cells;\nmov.u32 %o, own;\ncvt.u64.u32 %w, %s;\ncvta.shared.u64 %w, %w;\n\
             ends: .branchtargets end;\n{line}\nend:\nret;\n}}\n"
        )
    }
}

/// What all kernels of a section have in common.
const COMMON: &str = ".const .align 32 .b8 table[64];\n.func nothing() { ret; }\n.func (.param .b32 out) identity(.param .b32 in)\n\
    {\n.reg .b32 %r;\nld.param.b32 %r, [in];\nst.param.b32 [out], %r;\nret;\n}\n";

/// How far each form gets, and the message of what does not run.
fn measured(forms: &[Form], words: &Words) -> Vec<(Stage, String)> {
    // A module with many functions takes long to load.
    forms.chunks(200).flat_map(|forms| of_module(forms, words)).collect()
}

fn of_module(forms: &[Form], words: &Words) -> Vec<(Stage, String)> {
    let kernels = forms.iter().enumerate().map(|(number, form)| form.kernel(number));
    let text = [HEADER.to_string(), COMMON.to_string()].into_iter().chain(kernels).collect::<String>();
    let mut device: Device = device();
    let buffer = upload(&mut device, &[0; 4096]);
    let module = device.load(&text).expect("PTX");
    let each = |(number, form): (usize, &Form)| {
        let function = device.function(module, &format!("k{number}")).expect("a kernel");
        let params = [&buffer.to_le_bytes()[..], &[0; 88]].concat();
        let Shape { grid, block, shared } = Shape::line(1, 32);
        let fault = match device.launch(function, &simulator::Launch { grid, block, shared, params }) {
            Ok(()) => None,
            // They end a kernel.
            Err(fault) if ["trap", "brkpt"].contains(&form.name.as_str()) && fault.kind != Kind::Unsupported => None,
            Err(fault) => Some(fault.to_string()),
        };
        let Some(fault) = fault else {
            let stage = if compared(&form.name, words) { Stage::Compared } else { Stage::Run };
            return (stage, String::new());
        };
        let why = fault.split_once(&format!("k{number}: ")).map_or(fault.as_str(), |(_, why)| why);
        (if why.starts_with("line ") { Stage::Unknown } else { Stage::Parsed }, why.to_string())
    };
    forms.iter().enumerate().map(each).collect()
}

/// The words of the kernels whose results tests compare.
pub type Words = std::collections::HashSet<String>;

fn words() -> Words {
    let lines = crate::passes::texts().collect::<String>();
    let code = lines.lines().filter(|line| !line.starts_with("//"));
    code.flat_map(|line| line.split([' ', ';'])).map(str::to_string).collect()
}

/// True if a test compares what the form computes with something that shares nothing with the simulator.
fn compared(name: &str, words: &Words) -> bool {
    let known = |name: &str| {
        oracle::FAMILIES.iter().any(|(_, of)| of(name).is_some())
            || crate::memory::covers(name)
            || crate::atomics::covers(name)
            || crate::matrices::covers(name)
            || crate::gathers::covers(name)
            || words.contains(name)
    };
    known(name) || simulator::isa::listed(name).is_some_and(|name| known(&name))
}

/// The lines of `unsupported.txt`: a pattern for how names begin, and why the device does not run them.
fn reasons() -> Vec<(Vec<String>, String)> {
    let text = std::fs::read_to_string(folder("forms").join("unsupported.txt")).expect("tests/forms/unsupported.txt");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| line.split_once(": ").expect("names: reason"))
        .map(|(names, why)| (expand(names), why.to_string()))
        .collect()
}

/// True if a name begins as a pattern says, in which `*` is anything.
fn begins(name: &str, pattern: &str) -> bool {
    let (first, others) = pattern.split_once('*').unwrap_or((pattern, ""));
    name.strip_prefix(first).is_some_and(|rest| rest.contains(others))
}

#[test]
fn every_form_of_the_isa_runs_or_has_a_reason_why_not() {
    let (words, reasons) = (words(), reasons());
    let mut used = vec![0; reasons.len()];
    let mut lines = Vec::new();
    let mut text =
        String::from("| section of the PTX ISA | forms | are parsed | run | have an oracle |\n|---|---|---|---|---|\n");
    let mut all = [0; 4];
    for Section { title, forms } in sections() {
        let stages = measured(&forms, &words);
        let mut names: BTreeMap<&str, Stage> = BTreeMap::new();
        for (form, (stage, why)) in forms.iter().zip(&stages) {
            let known = names.entry(&form.name).or_insert(*stage);
            *known = (*known).min(*stage);
            if *stage >= Stage::Run {
                continue;
            }
            match reasons.iter().position(|(names, _)| names.iter().any(|name| begins(&form.name, name))) {
                Some(number) => used[number] += 1,
                None => lines.push(format!("{} {}: {why}", form.name, form.operands())),
            }
        }
        let reached = |stage: Stage| names.values().filter(|known| **known >= stage).count();
        let counts = [names.len(), reached(Stage::Parsed), reached(Stage::Run), reached(Stage::Compared)];
        let [forms, parsed, run, compared] = counts;
        let _ = writeln!(text, "| {title} | {forms} | {parsed} | {run} | {compared} |");
        all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    let [forms, parsed, run, compared] = all;
    let _ = writeln!(text, "| **all** | {forms} | {parsed} | {run} | {compared} |");
    text += "\nForms that do not run, and why:\n\n";
    for ((names, why), used) in reasons.iter().zip(used) {
        let _ =
            writeln!(text, "- {}: {why}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "));
        if used == 0 {
            lines.push(format!("{names:?} run: unsupported.txt has them"));
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(folder("forms").join("../forms.md"), &text).expect("written");
    }
    assert!(
        lines.is_empty(),
        "{} forms neither run nor have a reason in tests/forms/unsupported.txt:\n{}",
        lines.len(),
        lines.join("\n")
    );
    let kept = std::fs::read_to_string(folder("forms").join("../forms.md")).expect("tests/forms.md");
    assert!(kept == text, "tests/forms.md is old: UPDATE_DOCS=1 cargo test -p snuffer-simulator isa_tables writes it");
}

#[test]
fn a_pattern_stands_for_all_its_names() {
    assert_eq!(expand("a(b|c)[.d]"), ["ab", "ab.d", "ac", "ac.d"]);
    assert_eq!(expand("a[.(x|y(1|2))]"), ["a", "a.x", "a.y1", "a.y2"]);
}
