//! Calls on a broadcast of one element or a few to 2^33: those with few outputs are judged, and no other is run.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Patience, examine};
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::ops::{self, why};
use snuffer::oracle::Verdict;
use snuffer::outcome::Outcome;

use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Each: calls_on_a_vast_tensor_are_judged_by_what_they_return_or_not_run];

/// What happens to a call.
#[derive(Debug, PartialEq)]
enum Fate {
    /// It returns what it should.
    Right,
    /// It is refused, as it should be, or may be.
    Refused,
    /// It is not run.
    TooLarge,
}
use Fate::{Refused, Right, TooLarge};

/// The values 1, 2, 3, as a column that is repeated 2^33 times.
const COLUMNS: &str = "[inputs.x]\ndtype = \"f32\"\nshape = [3, 8589934592]\nview = { broadcast = [1] }\nvalues = { list = [1.0, 2.0, 3.0] }\n";

/// The same as rows.
const ROWS: &str = "[inputs.x]\ndtype = \"f32\"\nshape = [8589934592, 3]\nview = { broadcast = [0] }\nvalues = { list = [1.0, 2.0, 3.0] }\n";

/// Ids within the rows, the last one beyond 2^32.
const IDS: &str = "[inputs.ids]\ndtype = \"i64\"\nshape = [2]\nvalues = { list = [0, 8589934591] }\n";

/// Each call: the op, its params, its inputs, and its fate.
const CALLS: &[(&str, &str, &[&str], Fate)] = &[
    ("tensor.narrow", "dim = 1\nstart = 8589934590\nlen = 2", &[COLUMNS], Right),
    ("tensor.narrow", "dim = 0\nstart = 4294967297\nlen = 3", &[ROWS], Right),
    ("tensor.narrow", "dim = 1\nstart = 8589934590\nlen = 3", &[COLUMNS], Refused),
    ("tensor.narrow", "dim = 0\nstart = 1\nlen = 1", &[COLUMNS], TooLarge),
    ("tensor.get", "dim = 1\nindex = 8589934591", &[COLUMNS], Right),
    ("tensor.get", "form = \"first\"\nindex = 4294967296", &[ROWS], Right),
    ("tensor.get", "dim = 1\nindex = 8589934592", &[COLUMNS], Refused),
    ("tensor.i", "kinds = [\"at\", \"range\"]\nstarts = [8589934591, 1]\nends = [0, 3]", &[ROWS], Right),
    ("tensor.i", "kinds = [\"all\"]\nstarts = [0]\nends = [0]", &[ROWS], TooLarge),
    // candle asks for a contiguous table.
    ("tensor.index_select", "dim = 0", &[ROWS, IDS], Refused),
    ("tensor.index_select", "dim = 1", &[ROWS, IDS], Refused),
    ("tensor.metadata", "axis = -1\nform = \"sizes\"", &[COLUMNS], Right),
    ("tensor.metadata", "axis = 2\nform = \"sizes\"", &[COLUMNS], Refused),
    ("tensor.metadata", "axis = -1", &[COLUMNS], TooLarge),
    ("tensor.reshape", "sizes = [3, 5]", &[COLUMNS], Refused),
    ("tensor.reshape", "sizes = [25769803776]", &[COLUMNS], TooLarge),
    ("tensor.broadcast_as", "sizes = [4, 8589934592]", &[COLUMNS], Refused),
    ("tensor.transpose", "dim1 = 0\ndim2 = 2", &[COLUMNS], Refused),
    ("tensor.transpose", "dim1 = 0\ndim2 = 1", &[COLUMNS], TooLarge),
    ("tensor.chunk", "dim = 2\nchunks = 2", &[COLUMNS], Refused),
    ("tensor.squeeze", "dim = 2", &[COLUMNS], Refused),
    ("tensor.contiguous", "", &[COLUMNS], TooLarge),
    ("tensor.sum", "dims = [1]", &[COLUMNS], TooLarge),
    ("tensor.argmax", "dim = 0", &[COLUMNS], TooLarge),
    ("tensor.exp", "", &[COLUMNS], TooLarge),
    ("op.softmax", "dim = 0", &[COLUMNS], TooLarge),
];

/// What is done with the few elements that a first step takes.
const AFTERWARDS: &[(&str, &str, Fate)] = &[
    ("tensor.sum", "\"2.dims\" = [1]", Right),
    ("tensor.argmax", "\"2.dim\" = 0", Right),
    ("op.softmax", "\"2.dim\" = 0", Right),
    ("tensor.sum", "\"2.dims\" = [2]", Refused),
];

fn calls_on_a_vast_tensor_are_judged_by_what_they_return_or_not_run(device: Device) {
    let mut executor = Executor::start(&[device], &WorkerSpec::default()).expect("a worker starts");
    let mut fate = |text: &str| {
        let case = Case::parse(text).expect("a case");
        let op = ops::find(&case.op).expect("an op");
        let examined = examine(&mut executor, op, &case, Patience::Full).expect("the harness survives");
        match (&examined.verdict, examined.observations.first().map(|seen| &seen.outcome)) {
            (Verdict::Skip(why::TOO_LARGE), None) => TooLarge,
            (Verdict::Pass, Some(Outcome::Returned(_))) => Right,
            (Verdict::Pass | Verdict::Skip(_), Some(Outcome::Rejected(_))) => Refused,
            other => panic!("{text}\n{other:?}"),
        }
    };
    for (op, params, inputs, expected) in CALLS {
        let text = format!("op = \"{op}\"\n[params]\n{params}\n{}", inputs.concat());
        assert_eq!(fate(&text), *expected, "{text}");
    }
    // A gradient has as many elements as the input.
    let (op, params, inputs, _) = &CALLS[0];
    let with_gradients = format!("op = \"{op}\"\nbackward = \"sum\"\n[params]\n{params}\n{}", inputs.concat());
    assert_eq!(fate(&with_gradients), TooLarge);
    for (op, params, expected) in AFTERWARDS {
        let x = COLUMNS.replace("inputs.x", "inputs.\"1.x\"");
        let text = format!(
            "op = \"sequence\"\nsteps = [\"tensor.narrow\", \"{op}\"]\n\
             [params]\n\"1.dim\" = 1\n\"1.start\" = 5000000000\n\"1.len\" = 2\n{params}\n{x}"
        );
        assert_eq!(fate(&text), *expected, "{text}");
    }
}
