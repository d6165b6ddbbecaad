//! A fault or report, and its text. The text is what the driver and `compute-sanitizer` print.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{DETAIL, Detail, Kind, Near, Note, Place, Severity, TITLE, Thread};

/// A diagnosed fault. Some faults end a launch, as on hardware. Others are only reported, because hardware goes on after them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The kernel or call, and its line.
    #[serde(flatten)]
    pub place: Place,
    /// The thread; `None` for the host's own calls.
    #[serde(flatten)]
    pub thread: Option<Thread>,
    /// The faulting address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Near>,
    /// What happened.
    pub detail: Detail,
    /// What else is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Fault {
    /// A fault of a kernel or of a call of the host, of which no more is known.
    pub fn new(kind: Kind, kernel: impl Into<String>, detail: impl Into<Detail>) -> Self {
        let place = Place { kernel: kernel.into(), ..Place::default() };
        Self { kind, place, thread: None, address: None, near: None, detail: detail.into(), notes: Vec::new() }
    }

    /// The same, of this kernel or call.
    #[must_use]
    pub fn in_call(mut self, name: &str) -> Self {
        self.place.kernel = name.to_string();
        self
    }

    /// What happened, without where.
    pub fn title(&self) -> String {
        match (&self.detail, self.thread) {
            (Detail::Assertion(assertion), Some(thread)) => assertion.line(thread),
            (detail, _) => detail.to_string(),
        }
    }

    /// The lines after the title and the place.
    pub fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.thread.map(|thread| format!("by {thread}")));
        if let (Some(address), Some(how)) = (self.address, self.kind.address()) {
            let what = if self.kind == Kind::InvalidFree { "Address" } else { "Access to" };
            lines.push(format!("{what} 0x{address:x} {how}"));
            lines.extend(self.near.as_ref().map(|near| format!("and is {near}")));
        }
        lines.extend(self.notes.iter().map(Note::to_string));
        lines.extend(self.place.ptx.map(|line| format!("in line {line} of the PTX")));
        lines
    }

    /// Everything that is known, in one line.
    pub fn message(&self) -> String {
        self.lines().join("; ")
    }

    /// Everything that is known, line by line. Of what is no mistake of the program there is one line.
    pub fn lines(&self) -> Vec<String> {
        let (title, kernel) = (self.title(), &self.place.kernel);
        match self.kind.severity() {
            Severity::Injected => vec![title],
            Severity::Unsupported if kernel.is_empty() => vec![title],
            Severity::Unsupported => vec![format!("{kernel}: {title}")],
            Severity::Fact => {
                let notes = self.notes.iter().map(Note::to_string);
                vec![[format!("{title} {}", self.place)].into_iter().chain(notes).collect::<Vec<_>>().join(", ")]
            }
            Severity::Fault | Severity::Report => {
                let place = (!kernel.is_empty()).then(|| self.place.to_string());
                [title].into_iter().chain(place).chain(self.details()).collect()
            }
        }
    }
}

/// As `compute-sanitizer` prints it, and an assertion as the driver does.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = self.kind.severity().mark().unwrap_or(if self.kind == Kind::Assert { "" } else { TITLE });
        f.write_str(mark)?;
        f.write_str(&self.lines().join(&format!("\n{DETAIL}")))
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;
    use crate::{
        Assertion, Detail, Frame, How, Kind, Location, Moment, Near, Note, Record, Severity, Source, Space, Thread,
        Whom,
    };

    const THREAD: Thread = Thread { block: [0, 1, 2], thread: [3, 0, 0] };

    fn source() -> Source {
        Source { file: "src/fill.cu".to_string(), line: 18 }
    }

    /// A fault of a kernel with all that can be known.
    fn fault(kind: Kind, detail: Detail, near: Option<Near>, notes: Vec<Note>) -> Fault {
        let mut fault = Fault::new(kind, "fill", detail);
        (fault.place.source, fault.place.ptx) = (Some(source()), Some(40));
        Fault { thread: Some(THREAD), address: near.is_some().then_some(0x1000), near, notes, ..fault }
    }

    fn assertion() -> Assertion {
        Assertion {
            source: source(),
            function: "void fill<long, float>()".to_string(),
            condition: "id < n".to_string(),
        }
    }

    /// One fault of each shape.
    fn faults() -> Vec<Fault> {
        let read = Detail::Access { how: How::Read, space: Space::Global, bytes: 4 };
        let race = Detail::Race { how: How::Write, earlier: How::Read, space: Space::Shared };
        let at = Location { source: None, ptx: 7 };
        let other = Note::Other { how: How::Read, at: at.clone(), by: THREAD };
        let life = vec![
            Note::Allocated(Moment::default()),
            Note::Freed(Moment { launches: 3, kernel: Some("put".to_string()) }),
        ];
        let waits = Note::Waiting { threads: 32, whom: Whom::Block, at: Location { source: Some(source()), ptx: 9 } };
        vec![
            fault(Kind::Assert, Detail::Assertion(assertion()), None, vec!["70 < 4 is false (u64)".to_string().into()]),
            fault(Kind::UseAfterFree, read, Some(Near::Allocation { offset: 8, size: 4, bytes: 4 }), life),
            fault(Kind::Race, race, Some(Near::Array { name: "tile".to_string(), offset: -4, size: 64 }), vec![other]),
            fault(Kind::Deadlock, "Barrier error detected. No thread of the block can go on".into(), None, vec![waits]),
            fault(Kind::Arithmetic, "division of an integer by zero".into(), None, vec![Note::MadeAt(at)]),
            Fault::new(Kind::Unsupported, "fill", "istypep.texref"),
            Fault::new(Kind::Unsupported, "", Detail::Missing { function: "cuTexRefCreate".to_string() }),
            Fault::new(
                Kind::Injected,
                "cuMemAlloc_v2",
                Detail::Returns { function: "cuMemAlloc_v2".to_string(), code: "CUDA_ERROR_OUT_OF_MEMORY".to_string() },
            ),
        ]
    }

    const TEXT: &str = "\
src/fill.cu:18: void fill<long, float>(): block: [0,1,2], thread: [3,0,0] Assertion `id < n` failed.
=========     at fill() in src/fill.cu:18
=========     by thread (3,0,0) in block (0,1,2)
=========     70 < 4 is false (u64)
=========     in line 40 of the PTX
========= Invalid __global__ read of size 4 bytes
=========     at fill() in src/fill.cu:18
=========     by thread (3,0,0) in block (0,1,2)
=========     Access to 0x1000 is in memory that was freed
=========     and is 4 bytes after the nearest allocation of size 4 bytes
=========     allocated before the first launch
=========     freed after launch 3 (`put`)
=========     in line 40 of the PTX
========= Race reported between write access and read access to __shared__ memory
=========     at fill() in src/fill.cu:18
=========     by thread (3,0,0) in block (0,1,2)
=========     Access to 0x1000 is not ordered
=========     and is 4 bytes before `tile` of 64 bytes
=========     and read access in line 7 of the PTX by thread (3,0,0) in block (0,1,2)
=========     in line 40 of the PTX
========= Barrier error detected. No thread of the block can go on
=========     at fill() in src/fill.cu:18
=========     by thread (3,0,0) in block (0,1,2)
=========     32 threads wait for the block at src/fill.cu:18, in line 9 of the PTX
=========     in line 40 of the PTX
snuffer-sim: fact: division of an integer by zero at fill() in src/fill.cu:18, made in line 7 of the PTX
snuffer-sim: unsupported: fill: istypep.texref
snuffer-sim: unsupported: cuTexRefCreate is not simulated
snuffer-sim: asked to fail: cuMemAlloc_v2 returns CUDA_ERROR_OUT_OF_MEMORY";

    #[test]
    fn a_fault_reads_as_the_driver_and_the_sanitizer_print_it() {
        let text: Vec<String> = faults().iter().map(Fault::to_string).collect();
        assert_eq!(text.join("\n"), TEXT);
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written_and_has_its_text() {
        for fault in faults() {
            let host = vec![Frame { function: "main".to_string(), file: None, line: None }];
            let record = Record { severity: fault.kind.severity(), fault, host };
            let line = serde_json::to_value(&record).expect("it has a form in JSON");
            assert_eq!(line["message"], record.fault.message());
            assert_eq!(serde_json::from_value::<Record>(line).expect("a record"), record);
        }
    }

    #[test]
    fn what_is_known_of_the_place_has_a_field_of_its_own() {
        let record = Record { severity: Severity::Fault, fault: faults().swap_remove(1), host: Vec::new() };
        let line = serde_json::to_value(&record).expect("it has a form in JSON");
        for (field, expected) in [
            ("severity", "\"fault\""),
            ("kind", "\"use after free\""),
            ("kernel", "\"fill\""),
            ("file", "\"src/fill.cu\""),
            ("line", "18"),
            ("ptx", "40"),
            ("block", "[0,1,2]"),
            ("thread", "[3,0,0]"),
            ("address", "4096"),
            ("near", r#"{"allocation":{"bytes":4,"offset":8,"size":4}}"#),
            ("detail", r#"{"access":{"bytes":4,"how":"read","space":"global"}}"#),
        ] {
            assert_eq!(line[field].to_string(), expected, "{field}");
        }
    }

    #[test]
    fn the_line_of_an_assertion_is_read_back() {
        let line = assertion().line(THREAD);
        assert_eq!(Assertion::parse(&line), Some((assertion(), THREAD)));
        assert_eq!(Assertion::parse(&line[..line.len() - 1]), None);
    }
}
