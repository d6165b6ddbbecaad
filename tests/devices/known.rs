//! The failures that property tests know: minimized cases in `corpora/properties`, in the format of regressions.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::oracle::Signature;
use snuffer::store::id;
use snuffer::store::regression::{Backend, Condition, Regression, Status};

/// A failure, in a file of its own.
pub struct Failure {
    path: PathBuf,
    kept: Regression,
}

impl Failure {
    /// Whether it is known to happen on `device`.
    pub fn is_on(&self, device: Device) -> bool {
        self.kept.fails.iter().any(|condition| condition.device.is_none_or(|backend| backend.has(device)))
    }

    /// Whether it may happen on `device`: what the simulated device's checkers report, a stand-in for a GPU reports, too.
    pub fn may_be_on(&self, device: Device) -> bool {
        let is_gpu = matches!(device, Device::Cuda(_));
        self.is_on(device) || is_gpu && self.kept.fails.iter().any(|condition| condition.device == Some(Backend::Sim))
    }

    /// How it fails.
    pub fn signature(&self) -> &Signature {
        self.kept.signature.as_ref().expect("a failure has a signature")
    }

    /// The smallest case that shows it.
    pub fn case(&self) -> &Case {
        &self.kept.case
    }

    /// Removes it where it no longer happens on `device`.
    pub fn forget(mut self, device: Device) {
        self.kept.fails.retain(|condition| condition.device.is_some_and(|backend| !backend.has(device)));
        if self.kept.fails.is_empty() {
            return fs::remove_dir_all(self.path.parent().expect("a folder")).expect("removable");
        }
        self.write();
    }

    /// Gives it the signature that the failure has now.
    pub fn sign(mut self, signature: &Signature) {
        self.kept.signature = Some(signature.clone());
        self.kept.title = signature.to_string();
        self.write();
    }

    fn write(&self) {
        fs::create_dir_all(self.path.parent().expect("a folder")).expect("writable");
        fs::write(&self.path, self.kept.to_text()).expect("writable");
    }
}

/// The known failures of the op.
pub fn of(op: &str) -> Vec<Failure> {
    let Ok(entries) = fs::read_dir(folder(op)) else { return Vec::new() };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kept = Regression::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Failure { path, kept }
    };
    let mut all: Vec<Failure> = entries.map(|entry| read(entry.expect("readable").path().join("case.toml"))).collect();
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

/// Adds a failure to those of its op.
pub fn keep(signature: &Signature, case: &Case, device: Device) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().expect("keeping does not panic");
    let fails = Condition::on(&[device], signature.oracle);
    let same = |known: &Failure| known.signature() == signature && known.case() == case;
    if let Some(mut known) = of(&case.op).into_iter().find(same) {
        known.kept.fails.extend(fails);
        return known.write();
    }
    // Another device may need another case to show the same failure.
    let place = if Backend::Cpu.has(device) { "cpu" } else { "cuda" };
    let name = format!("{place}-{}-{}", signature.kind.name().replace(' ', "-"), id(&signature.slug()));
    let kept = Regression {
        title: signature.to_string(),
        status: Status::Open,
        upstream: None,
        fixed_in: None,
        reason: None,
        provenance: "property tests".to_string(),
        fails,
        signature: Some(signature.clone()),
        case: case.clone(),
    };
    Failure { path: folder(&case.op).join(name).join("case.toml"), kept }.write();
}

fn folder(op: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpora/properties").join(op)
}
