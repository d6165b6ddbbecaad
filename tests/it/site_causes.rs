//! The page of causes: what it says of each, its order, and the links between it and the findings.

use std::collections::BTreeMap;

use snuffer::causes::{KnownFailures, RootCause};
use snuffer::report::site::{Contents, site};

use crate::site::{contents, text, values};

/// A cause of the findings that are named like this.
fn cause(name: &str, rank: &str, findings: &str) -> RootCause {
    let cause = format!(
        r#"
title = "{name} has a cause"
rank = "{rank}"
theme = "sums"
symptom = "panic"
hit = "rare"
at = ["candle-nn/src/ops.rs softmax"]
explanation = "It divides by `{name}_sum`, a<b."
shown_by = [{{ name = "{findings}" }}]
workaround = "Call `contiguous()`."
pytorch = "It returns 0."
upstream = [{{ url = "https://github.com/huggingface/candle/issues/2", kind = "report", title = "`softmax` is wrong" }}]
"#
    );
    RootCause { name: name.to_string(), ..toml::from_str(&cause).expect("a cause") }
}

/// The pages of two findings that `causes` explain, and of a third.
fn pages(causes: Vec<RootCause>) -> BTreeMap<String, String> {
    let mut contents = contents();
    let mut third = contents.findings[1].1.clone();
    third.signature.op = "op.log_softmax".into();
    contents.findings.push((third.signature.slug(), third));
    let known = KnownFailures { causes, ..contents.known };
    let fixes = BTreeMap::from([("sums".to_string(), "-a < b\n+a > b\n".to_string())]);
    site(&Contents { known, fixes, ..contents }).expect("templates").into_iter().collect()
}

/// What the page of causes shows from an anchor to the next.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, section) = page.split_once(&format!(" id=\"{id}\">")).unwrap_or_else(|| panic!("{id} is not in {page}"));
    section.split("</section>").next().unwrap_or_default()
}

#[test]
fn a_cause_says_what_is_known_of_it_and_links_to_its_findings_which_link_back() {
    let pages = pages(vec![cause("sums", "crash", "op.softmax--*")]);
    let sums = section(&pages["causes.html"], "sums");
    let shown = text(sums);
    for expected in [
        "sums has a cause",
        "It divides by sums_sum, a<b.",
        "crash: panic, assert or hang",
        "candle-nn/src/ops.rs softmax",
        "softmax is wrong (reports it)",
        "It returns 0.",
        "Call contiguous().",
        "none yet",
        "-a < b\n+a > b\n",
        "1 finding\n",
        "op.softmax panics",
    ] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    assert!(sums.contains("<code>contiguous()</code>") && sums.contains("<code>softmax</code> is wrong"), "{sums}");
    let links = values(sums, "href");
    let finding = links.iter().find(|link| link.starts_with("finding/op.softmax--")).expect("a link to the finding");
    assert!(values(&pages[finding], "href").contains(&"../causes.html#sums".to_string()));
}

#[test]
fn findings_without_a_cause_come_first_then_the_worst_causes_then_those_of_most_findings() {
    let one = cause("one", "crash", "op.softmax--*");
    let page = &pages(vec![one])["causes.html"];
    assert_eq!(values(section(page, "unexplained"), "href").len(), 2);
    assert!(page.find("id=\"unexplained\"") < page.find("id=\"one\""));
    for (ranks, order) in
        [(["limit", "crash"], ["many", "one"]), (["crash", "limit"], ["one", "many"]), (["crash"; 2], ["many", "one"])]
    {
        let causes = vec![cause("one", ranks[0], "canary--*"), cause("many", ranks[1], "op.*--*")];
        let page = &pages(causes)["causes.html"];
        assert!(!page.contains("id=\"unexplained\""));
        let places = order.map(|name| page.find(&format!("id=\"{name}\"")));
        assert!(places[0].is_some() && places[0] < places[1], "{ranks:?}: {order:?}");
    }
}
