//! Every kept case does today what its snapshot says: right or wrong, a change turns the test red.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::regression::{Regression, Status};
use snuffer::report;

#[test]
fn every_regression_does_what_its_snapshot_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions");
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], Build::Checked, limits).expect("a worker starts");
    let mut names: Vec<_> =
        walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.expect("readable").into_path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    names.sort();
    assert!(names.len() >= 20, "the regressions are gone: {} left", names.len());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in names {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let regression = Regression::parse(&std::fs::read_to_string(&path).expect("readable")).expect(&name);
        let op = ops::find(&regression.case.op).expect(&name);
        let observations = executor.observe(&regression.case).expect("the harness survives");
        let evidence = Evidence::new(op, &regression.case, &observations);
        let verdict = judge(&evidence);
        let signature = match &verdict {
            Verdict::Fail(violation) => Some(violation.signature(op.name)),
            Verdict::Pass | Verdict::Skip(_) => None,
        };
        assert_eq!(signature, regression.signature, "{name}: today's violation");
        assert_eq!(regression.status == Status::Open, signature.is_some(), "{name}: the status and today's behaviour");
        settings.bind(|| insta::assert_snapshot!(name, report::text(&evidence, &verdict)));
    }
}
