//! What is known upstream about a finding, or about another finding that probably has the same cause.

use crate::causes::{KnownIssue, Sighting};
use crate::oracle::Signature;
use crate::store::Cause;
use crate::store::regression::{Regression, Status};

/// Links about one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The title of the other regression that they are about; `None` if they are about the finding itself.
    pub same_cause_as: Option<String>,
    /// The links.
    pub links: Vec<String>,
}

/// What is known upstream about a failure. If nothing is, what is known about a regression with probably the same cause.
pub fn upstream(failure: &Sighting, known: &[(String, Regression)]) -> Option<Upstream> {
    let signature = failure.signature;
    let own = known.iter().map(|(_, one)| one).find(|one| one.signature.as_ref() == Some(signature));
    let links = links(failure, own);
    if !links.is_empty() {
        return Some(Upstream { same_cause_as: None, links });
    }
    known.iter().find_map(|(_, one)| {
        let other = Sighting::kept(one)?;
        if one.status == Status::Fixed || !is_alike(signature, other.signature) {
            return None;
        }
        let links = self::links(&other, Some(one));
        (!links.is_empty()).then(|| Upstream { same_cause_as: Some(one.title.clone()), links })
    })
}

fn links(failure: &Sighting, regression: Option<&Regression>) -> Vec<String> {
    let own = regression.and_then(|one| one.upstream.clone());
    let shown = |issue: &&KnownIssue| !issue.links().is_empty() && issue.is_shown_by(failure).unwrap_or(false);
    let listed = KnownIssue::own().iter().filter(shown).flat_map(KnownIssue::links);
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
    let of_any_op = |signature: &Signature| Signature { op: String::new(), ..signature.clone() };
    let (left, right) = (of_any_op(one), of_any_op(other));
    let same_call = call(one) == call(other) && (left.covers(&right) || right.covers(&left));
    one.kind == other.kind && (in_one_function || same_call)
}
