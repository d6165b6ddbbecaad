//! The location of the last panic on any thread: crate, file and line.

use std::panic::PanicHookInfo;
use std::sync::Mutex;

use crate::outcome::Place;

static LAST: Mutex<Option<(Place, String)>> = Mutex::new(None);

/// Makes panics store their location and message for [`last_panic`] instead of printing them.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let location = info.location().map(|at| Place::line(crate_path(at.file()), at.line())).unwrap_or_default();
        let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *last = Some((location, message(info)));
    }));
}

/// Location and message of the last panic.
pub fn last_panic() -> (Place, String) {
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    last.take().unwrap_or_default()
}

fn message(info: &PanicHookInfo) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a text".to_string())
}

/// A source path that starts at the crate's folder, or at a toolkit's folder of headers. Drops the path of that folder and its
/// version, so that signatures are the same on every machine.
pub fn crate_path(file: &str) -> String {
    let parts: Vec<&str> = file.split(['/', '\\']).collect();
    let part = |name| parts.iter().rposition(|part| *part == name).filter(|place| *place > 0);
    match (part("src"), part("include")) {
        (Some(source), _) => {
            let folder = parts[source - 1];
            let versioned =
                |(name, version): &(&str, &str)| !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit());
            let name = folder.rsplit_once('-').filter(versioned).map_or(folder, |(name, _)| name);
            format!("{name}/{}", parts[source..].join("/"))
        }
        (None, Some(headers)) => parts[headers..].join("/"),
        (None, None) => file.to_string(),
    }
}
