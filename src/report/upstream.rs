//! What is known upstream about a finding, or about another finding that probably has the same cause.

use std::sync::LazyLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::oracle::Signature;
use crate::store::Cause;
use crate::store::regression::{Regression, Status};

/// The list of known issues that `snuffer findings known` reads, too.
static KNOWN_ISSUES: LazyLock<Vec<Issue>> = LazyLock::new(|| {
    let list: List = toml::from_str(include_str!("../../docs/known-issues.toml")).expect("the list parses");
    list.issue.into_iter().filter(|issue| !issue.links().is_empty()).collect()
});

#[derive(Deserialize)]
struct List {
    issue: Vec<Issue>,
}

#[derive(Deserialize)]
struct Issue {
    title: String,
    #[serde(default)]
    shown_by: Vec<String>,
}

impl Issue {
    /// The links that the title ends with: `(#3161, #3095)` are two issues of candle.
    fn links(&self) -> Vec<String> {
        let numbers = self.title.rsplit_once('(').map_or("", |(_, end)| end.trim_end_matches(')'));
        let number = |word: &str| word.strip_prefix('#')?.parse::<u32>().ok();
        let link = |number| format!("https://github.com/huggingface/candle/issues/{number}");
        numbers.split(", ").filter_map(number).map(link).collect()
    }

    fn is_shown_by(&self, signature: &Signature) -> bool {
        patterns(&self.shown_by).is_match(signature.slug())
    }
}

fn patterns(all: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in all {
        set.add(Glob::new(pattern).expect("the patterns of the list are valid"));
    }
    set.build().expect("the patterns of the list are valid")
}

/// Links about one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The title of the other regression that they are about; `None` if they are about the finding itself.
    pub same_cause_as: Option<String>,
    /// The links.
    pub links: Vec<String>,
}

/// What is known upstream about a finding with this signature. If nothing is, what is known about a regression with probably the
/// same cause.
pub fn upstream(signature: &Signature, known: &[(String, Regression)]) -> Option<Upstream> {
    let own = known.iter().map(|(_, one)| one).find(|one| one.signature.as_ref() == Some(signature));
    let links = links(signature, own);
    if !links.is_empty() {
        return Some(Upstream { same_cause_as: None, links });
    }
    known.iter().find_map(|(_, one)| {
        let other = one.signature.as_ref().filter(|other| one.status != Status::Fixed && is_alike(signature, other))?;
        let links = self::links(other, Some(one));
        (!links.is_empty()).then(|| Upstream { same_cause_as: Some(one.title.clone()), links })
    })
}

fn links(signature: &Signature, regression: Option<&Regression>) -> Vec<String> {
    let own = regression.and_then(|one| one.upstream.clone());
    let listed = KNOWN_ISSUES.iter().filter(|issue| issue.is_shown_by(signature)).flat_map(Issue::links);
    // An issue and a pull request of one number are one page.
    let number = |link: &str| link.rsplit('/').next().map(ToString::to_string);
    let mut links: Vec<String> = Vec::new();
    for link in own.into_iter().chain(listed) {
        if links.iter().all(|other| number(other) != number(&link)) {
            links.push(link);
        }
    }
    links
}

/// Whether two signatures probably have one cause: the same failure in one function, or of one call in another form, such as
/// `layer.conv1d` and `tensor.conv1d`.
fn is_alike(one: &Signature, other: &Signature) -> bool {
    let call = |signature: &Signature| signature.op.rsplit('.').next().map(ToString::to_string);
    let in_one_function = Cause::at(&one.site).is_some() && Cause::at(&one.site) == Cause::at(&other.site);
    let same_call = one.oracle == other.oracle && one.site == other.site && call(one) == call(other);
    one.kind == other.kind && (in_one_function || same_call)
}
