//! A root cause: one mistake of candle that explains many failures, with its fix and the proof of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::folder::{self, Files, Folder, MODELS, SINCE, THEMES};
use super::impact::impact;
use super::{
    Fix, FixState, Hit, Instead, Link, Models, OnMetal, Predicate, Proof, Sighting, Since, Symptom, Theme, Themes,
    parsed,
};
use crate::case::{Case, nearest};
use crate::device::Device;
use crate::ops::{self, Op};
use crate::oracle::Rank;
use crate::program::Test;
use crate::store::regression::{Backend, is_link};

/// One mistake of candle.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootCause {
    /// The name of its folder: its first title, shortened. It never changes.
    #[serde(skip)]
    pub name: String,
    /// The mistake, as the title of an issue.
    pub title: String,
    /// How bad the worst of it is.
    pub rank: Rank,
    /// The theme that it belongs to.
    pub theme: String,
    /// The main thing that a user sees.
    pub symptom: Symptom,
    /// The calls that meet it.
    pub hit: Hit,
    /// The kinds of device that have it; all if there are none.
    #[serde(default)]
    pub devices: Vec<Backend>,
    /// The dtypes that have it, also those of quantized tensors; all if there are none.
    #[serde(default)]
    pub dtypes: Vec<String>,
    /// The reason why it is not a bug of candle, if it is not one. It still explains failures.
    #[serde(default)]
    pub note: Option<String>,
    /// Where it is: files and functions of candle, such as `candle-core/src/conv.rs ParamsConv1D::l_out`.
    pub at: Vec<String>,
    /// Those of the functions in the table of its ops that have it, such as `Tensor::argmax`; all if there are none. An op that draws one
    /// of many functions covers some that do not.
    #[serde(default)]
    pub functions: Vec<String>,
    /// How it goes wrong there, and why.
    pub explanation: String,
    /// The side effects of the fix: its costs, and all that it leaves as it is.
    #[serde(default)]
    pub about_fix: Option<String>,
    /// A failure for which one of these holds has this cause.
    pub shown_by: Vec<Predicate>,
    /// Issues and pull requests of candle about it.
    #[serde(default)]
    pub upstream: Vec<Link>,
    /// PyTorch's behaviour.
    #[serde(default)]
    pub pytorch: Option<String>,
    /// The right behaviour instead, and on whose word, in a sentence.
    #[serde(default)]
    pub expected: Option<String>,
    /// A way around it until it is fixed.
    #[serde(default)]
    pub workaround: Option<String>,
    /// The workaround as a change of the call that fails. A test makes the calls.
    #[serde(default)]
    pub instead: Option<Instead>,
    /// The regression that shows it best, if its plainest one does not show what the title says. Reports are about it.
    #[serde(default)]
    pub example: Option<String>,
    /// The name of its test, as candle names tests: by the case, such as `matmul_transposed_batch`.
    #[serde(default)]
    pub test: Option<String>,
    /// The models of candle-transformers that call what has it.
    #[serde(skip)]
    pub models: Vec<String>,
    /// Edits of candle that fix it.
    #[serde(skip)]
    pub fix: Option<Fix>,
    /// The proof that the fix works.
    #[serde(skip)]
    pub proof: Option<Proof>,
    /// Since which release it is there.
    #[serde(skip)]
    pub since: Option<Since>,
}

impl RootCause {
    /// The causes of this build, the worst first.
    pub fn own() -> Result<Vec<Self>, String> {
        Self::of_folder(folder::own())
    }

    /// The causes in the nearest folder, or else those of this build, the worst first. A mistake is one line.
    pub fn all() -> Result<Vec<Self>, String> {
        folder::folder().map_or_else(Self::own, |folder| Self::read(&folder))
    }

    /// The causes in `folder`, the worst first.
    pub fn read(folder: &Path) -> Result<Vec<Self>, String> {
        let files = folder::read(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        Self::of_folder(files).map_err(|problem| format!("{}/{problem}", folder.display()))
    }

    fn of_folder(Folder { causes, since, themes, models }: Folder) -> Result<Vec<Self>, String> {
        let mut since: BTreeMap<String, Since> = parsed(&since).map_err(|problem| format!("{SINCE}: {problem}"))?;
        let models: Models = parsed(&models).map_err(|problem| format!("{MODELS}: {problem}"))?;
        let themes: Themes = parsed(&themes).map_err(|problem| format!("{THEMES}: {problem}"))?;
        let parse = |files| {
            let cause = Self::parse(files)?;
            if !themes.contains_key(&cause.theme) {
                return Err(format!("{}/cause.toml: {THEMES} has no theme `{}`", cause.name, cause.theme));
            }
            Ok(Self { since: since.remove(&cause.name), models: models.using(cause.covered()), ..cause })
        };
        let mut all = causes.into_iter().map(parse).collect::<Result<Vec<_>, String>>()?;
        if let Some(name) = since.keys().next() {
            return Err(format!("{SINCE}: there is no cause `{name}`"));
        }
        all.sort_by(|one, other| (one.rank, &one.name).cmp(&(other.rank, &other.name)));
        Ok(all)
    }

    fn parse(files: Files) -> Result<Self, String> {
        let Files { name, cause, fix, proof } = files;
        let in_file = |what: &str, problem: String| format!("{name}/{what}.toml: {problem}");
        let mut cause: Self = parsed(&cause).map_err(|problem| in_file("cause", problem))?;
        cause.fix = fix.map(|text| parsed(&text)).transpose().map_err(|problem| in_file("fix", problem))?;
        cause.proof = proof.map(|text| parsed(&text)).transpose().map_err(|problem| in_file("proof", problem))?;
        if let Some(Link { url, .. }) = cause.upstream.iter().find(|link| !is_link(&link.url)) {
            return Err(in_file(
                "cause",
                format!("`{url}` is not a link; it is like https://github.com/OWNER/NAME/issues/1"),
            ));
        }
        cause.name = name;
        Ok(cause)
    }

    /// The themes of the nearest folder, or else of this build. A mistake is one line.
    pub fn themes() -> Result<Themes, String> {
        let folder = match folder::folder() {
            None => folder::own(),
            Some(folder) => {
                folder::read(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?
            }
        };
        parsed::<BTreeMap<String, Theme>>(&folder.themes).map_err(|problem| format!("{THEMES}: {problem}"))
    }

    /// The ops whose failures it may explain.
    pub fn ops(&self) -> impl Iterator<Item = &'static Op> {
        ops::ALL.iter().copied().filter(|op| self.shown_by.iter().any(|predicate| predicate.name.is_of(op)))
    }

    /// The functions of candle that have it, as the tables of its ops call them.
    fn covered(&self) -> impl Iterator<Item = &str> {
        let covered = self.ops().flat_map(|op| op.covers.iter().copied());
        covered.filter(|name| self.functions.is_empty() || self.functions.iter().any(|function| function == name))
    }

    /// The cause of `causes` that `typed` means: its name, or a part of its name that no other has.
    pub fn named<'a>(causes: &'a [Self], typed: &str) -> Result<&'a Self, String> {
        let exact = causes.iter().find(|cause| cause.name == typed);
        let meant: Vec<&Self> = causes.iter().filter(|cause| cause.name.contains(typed)).collect();
        match (exact, &meant[..]) {
            (Some(one), _) => Ok(one),
            (None, [one]) => Ok(one),
            (None, []) => {
                let near = nearest(typed, causes.iter().map(|cause| cause.name.as_str()));
                let near = near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                Err(format!("no cause `{typed}`{near}; `snuffer causes --kept` lists all causes of regressions"))
            }
            (None, [one, another, ..]) => {
                Err(format!("`{typed}` matches `{}` and `{}`; type more of the name", one.name, another.name))
            }
        }
    }

    /// How much it matters: its rank, how ordinary the calls are that meet it, and how many models make such calls.
    pub fn impact(&self) -> usize {
        impact(self.rank, self.hit, self.models.len())
    }

    /// The kinds of device that have it: `cpu`, `cuda`.
    pub fn on(&self) -> Vec<&'static str> {
        let has = |backend: Backend| self.devices.is_empty() || self.devices.contains(&backend);
        let cpu = has(Backend::Cpu).then_some("cpu");
        let cuda = (has(Backend::Cuda) && !self.is_of_the_host()).then_some("cuda");
        cpu.into_iter().chain(cuda).collect()
    }

    /// True if all of its ops run on the CPU whatever the device of a case is.
    fn is_of_the_host(&self) -> bool {
        let mut ops = self.ops().peekable();
        ops.peek().is_some() && ops.all(Op::is_of_the_host)
    }

    /// True if it lies in none of the code that a kind of device has for itself.
    pub fn is_in_shared_code(&self) -> bool {
        self.devices.is_empty()
            && !self.at.iter().any(|place| ["cpu", "cuda", "kernels"].iter().any(|own| place.contains(own)))
    }

    /// True if it may be on Metal, where nobody tries it, and its fix does not change that: the CPU or CUDA has a part of the fix for
    /// itself, and Metal would need its own.
    fn may_stay_on_metal(&self) -> bool {
        match &self.fix {
            None => !self.is_in_shared_code(),
            Some(fix) => matches!(fix.on_metal(), OnMetal::Partly | OnMetal::Untouched),
        }
    }

    /// `test` as the test of this cause: by its own name, and skipped on Metal where it may fail even with the fix.
    pub fn own_test(&self, test: Test) -> Test {
        let test = match &self.test {
            Some(name) => test.renamed(name),
            None => test,
        };
        if self.may_stay_on_metal() { test.without_metal() } else { test }
    }

    /// PyTorch's behaviour, unless the expectation tells it.
    pub fn pytorch_besides(&self) -> Option<&str> {
        let is_told = self.expected.as_ref().is_some_and(|expected| expected.contains("PyTorch"));
        self.pytorch.as_deref().filter(|_| !is_told)
    }

    /// The functions that it lies in, as code.
    pub fn places(&self) -> Vec<String> {
        self.at.iter().map(|place| format!("`{place}`")).collect()
    }

    /// True if its title names the call of this op.
    pub fn names(&self, op: &str) -> bool {
        let call = op.rsplit('.').next().unwrap_or_default();
        self.title.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|word| word == call)
    }

    /// Its symptom, devices and dtypes, and the calls that meet it, in a line.
    pub fn seen_as(&self) -> String {
        let dtypes = if self.dtypes.is_empty() { String::new() } else { format!(", in {}", self.dtypes.join(", ")) };
        format!("{}, on {}{dtypes}; by {}", self.symptom, self.on().join(" and "), self.hit)
    }

    /// The key by which causes are sorted: the most impact first, notes last.
    pub fn order(&self) -> impl Ord + use<'_> {
        (self.note.is_some(), Reverse(self.impact()), self.rank, &self.name)
    }

    /// `causes` in their order.
    pub fn by_impact(causes: &[Self]) -> Vec<&Self> {
        let mut all: Vec<&Self> = causes.iter().collect();
        all.sort_by(|one, other| one.order().cmp(&other.order()));
        all
    }

    /// The first words of its name, as few as tell it from all other `causes`: [`Self::named`] takes them.
    pub fn short_name<'a>(&'a self, causes: &[Self]) -> &'a str {
        let ends = self.name.match_indices('-').map(|(at, _)| at).chain([self.name.len()]);
        let is_enough = |short: &&str| causes.iter().filter(|cause| cause.name.contains(short)).count() == 1;
        ends.map(|end| &self.name[..end]).find(is_enough).unwrap_or(&self.name)
    }

    /// Refuses a predicate on an input or a param that an op of its pattern does not have, and names that nothing has.
    pub fn check(&self) -> Result<(), String> {
        let is_covered = |name: &&String| self.ops().any(|op| op.covers.contains(&name.as_str()));
        if let Some(name) = self.functions.iter().find(|name| !is_covered(name)) {
            return Err(format!("{}: `functions`: no op of it calls `{name}`", self.name));
        }
        let is_of_a_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if let Some(name) = self.test.as_ref().filter(|name| !name.chars().all(is_of_a_name)) {
            return Err(format!("{}: `test`: `{name}` is not like `matmul_transposed_batch`", self.name));
        }
        self.shown_by.iter().try_for_each(Predicate::check).map_err(|problem| format!("{}: {problem}", self.name))
    }

    /// True if a predicate says that it is the cause of `sighting`.
    pub fn is_shown_by(&self, sighting: &Sighting) -> bool {
        self.shown_by.iter().any(|predicate| predicate.holds(sighting))
    }

    /// True if a call of `op` on `device` may run into it, as far as its dtypes, layouts, sizes and params show.
    pub fn may_meet(&self, op: &Op, case: &Case, device: Device) -> bool {
        self.shown_by.iter().any(|predicate| predicate.may_hold(op, case, device))
    }

    /// True if the proof shows that the fix makes all that this explains pass, and breaks nothing.
    pub fn is_proven(&self) -> bool {
        self.fix.is_some() && self.proof.as_ref().is_some_and(Proof::holds)
    }

    /// How far its fix is.
    pub fn fix_state(&self) -> FixState {
        match &self.fix {
            None => FixState::None,
            Some(_) if self.is_proven() => FixState::Proven,
            Some(_) => FixState::Unproven,
        }
    }

    /// True if the failure of this name passes with its proven fix, or there is no fix.
    pub fn passes_once_fixed(&self, failure: &str) -> bool {
        self.fix.is_none() || self.is_proven() && self.fixes(failure)
    }

    /// True if the failure of this name passes with its fix.
    fn fixes(&self, failure: &str) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.fixes.contains(failure))
    }
}

/// The cause of `sighting`: the first with a matching predicate, of those whose proven fix makes this failure pass, or else of all. If no
/// predicate matches, it is the first whose fix makes it pass. Causes that are already fixed in this candle are ignored.
pub fn cause_of<'a>(causes: &'a [RootCause], sighting: &Sighting) -> Option<&'a RootCause> {
    let failure = sighting.signature.slug();
    let is_fixed =
        |cause: &RootCause| cause.is_proven() && sighting.candle.is_some_and(|candle| candle.has_fix_of(&cause.name));
    let open: Vec<&RootCause> = causes.iter().filter(|cause| !is_fixed(cause)).collect();
    // Two causes may have failures of one name, whose cases tell them apart.
    let is_of_another = |cause: &RootCause| {
        let mut fits = cause.shown_by.iter().filter_map(|predicate| predicate.fits_case(sighting)).peekable();
        fits.peek().is_some() && !fits.any(|fits| fits)
    };
    let passes_with_fix = |cause: &&RootCause| cause.fixes(&failure) && !is_of_another(cause);
    let proven: Vec<&RootCause> = open.iter().copied().filter(passes_with_fix).collect();
    shown(proven.iter().copied(), sighting).or_else(|| shown(open, sighting)).or(proven.first().copied())
}

/// The first of `causes` of which a predicate says that it is the cause of `sighting`.
pub fn shown<'a>(causes: impl IntoIterator<Item = &'a RootCause>, sighting: &Sighting) -> Option<&'a RootCause> {
    causes.into_iter().find(|cause| cause.is_shown_by(sighting))
}
