//! The failures that property tests know: minimized cases, in a file of `corpora/properties` for each family of ops.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::ops;
use snuffer::oracle::Signature;
use snuffer::store::regression::Backend;

use crate::place;

/// A failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The kinds of devices on which it happens.
    fails: BTreeSet<Backend>,
    /// How it fails.
    pub signature: Signature,
    /// The smallest case that shows it.
    pub case: Case,
}

/// A file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    failure: Vec<Failure>,
}

impl Failure {
    /// Whether it is known to happen on `device`.
    pub fn is_on(&self, device: Device) -> bool {
        self.fails.iter().any(|backend| backend.has(device))
    }

    /// Removes it where it no longer happens on `device`.
    pub fn forget(&self, device: Device) {
        change(&self.case.op, |all| {
            self.among(all).fails.retain(|backend| !backend.has(device));
            all.retain(|failure| !failure.fails.is_empty());
        });
    }

    /// Gives it the signature that the failure has now.
    pub fn sign(&self, signature: &Signature) {
        change(&self.case.op, |all| self.among(all).signature = signature.clone());
    }

    /// This failure in the file of its family.
    fn among<'a>(&self, all: &'a mut [Failure]) -> &'a mut Failure {
        all.iter_mut().find(|other| self.is(&other.signature, &other.case)).expect("it was read from there")
    }

    fn is(&self, signature: &Signature, case: &Case) -> bool {
        // Texts, because NaN never equals itself.
        self.signature == *signature && self.case.to_text() == case.to_text()
    }

    /// Its part of a file: a line for each field.
    fn to_text(&self) -> String {
        let [fails, signature, case] = [inline(&self.fails), inline(&self.signature), inline(&self.case)];
        format!("[[failure]]\nfails = {fails}\nsignature = {signature}\ncase = {case}\n")
    }
}

/// The family of the op of this name.
pub fn family(op: &str) -> &str {
    op.split('.').next().unwrap_or(op)
}

/// The known failures of the op.
pub fn of(op: &str) -> Vec<Failure> {
    with_family(op, |all| all.iter().filter(|failure| failure.case.op == op).cloned().collect())
}

/// Adds a failure to those of its op.
pub fn keep(signature: &Signature, case: &Case, device: Device) {
    let backend = Backend::of(device, signature.oracle);
    change(&case.op, |all| match all.iter_mut().find(|known| known.is(signature, case)) {
        Some(known) => drop(known.fails.insert(backend)),
        None => all.push(Failure { fails: [backend].into(), signature: signature.clone(), case: case.clone() }),
    });
}

/// Changes the failures of the family of `op`, and writes its file.
fn change(op: &str, change: impl FnOnce(&mut Vec<Failure>)) {
    with_family(op, |all| {
        change(all);
        all.sort_by_cached_key(|failure| (failure.signature.clone(), failure.case.to_text()));
        let text: Vec<String> = all.iter().map(Failure::to_text).collect();
        fs::write(path(family(op)), text.join("\n")).expect("writable");
    });
}

/// Does `act` with the failures of the family of `op`, which are read once.
fn with_family<T>(op: &str, act: impl FnOnce(&mut Vec<Failure>) -> T) -> T {
    static KNOWN: Mutex<BTreeMap<String, Vec<Failure>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("no thread panics with it");
    act(known.entry(family(op).to_string()).or_insert_with(|| read(family(op))))
}

fn read(name: &str) -> Vec<Failure> {
    let path = path(name);
    let Ok(text) = fs::read_to_string(&path) else { return Vec::new() };
    let Family { mut failure } = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for Failure { signature, case, .. } in &mut failure {
        let accepted = case.check().map_err(|error| error.to_string()).and_then(|()| ops::accept(case.clone()));
        *case = accepted.unwrap_or_else(|error| panic!("{}: {signature}: {error}", path.display())).1;
        assert_eq!((family(&case.op), &case.op), (name, &signature.op), "{}: the op of {signature}", path.display());
    }
    failure
}

fn path(family: &str) -> PathBuf {
    place::root().join("corpora/properties").join(format!("{family}.toml"))
}

/// The value in one line of TOML.
fn inline(value: &impl Serialize) -> String {
    let mut text = String::new();
    value.serialize(toml::ser::ValueSerializer::new(&mut text)).expect("TOML");
    text
}
