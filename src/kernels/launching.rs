//! Which ops launch some kernels, found out with a few cases of each.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::device::Device;
use crate::exec::{Deadline, Executor, WorkerSpec, pool};
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::Op;
use crate::score::{Changes, Trace};

/// How many cases of an op are run.
const CASES: u64 = 6;

/// Those of `ops` of which one of a few valid cases launches one of `kernels` on `device`, a simulated one.
pub fn launching(
    ops: &[&'static Op],
    kernels: &BTreeSet<String>,
    device: Device,
    spec: &WorkerSpec,
    jobs: usize,
) -> anyhow::Result<Vec<&'static Op>> {
    // Of candle's own kernels: an edited one may be gone, or end the process before the others are launched.
    let spec = spec.with_original_kernels();
    let next = AtomicU64::new(0);
    let claim = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (number < ops.len() as u64).then_some(number)
    };
    let start = || {
        let trace = Trace::new()?;
        let executor = Executor::start(&[device], &spec.with([trace.variable()]))?;
        Ok((executor, trace))
    };
    let found = pool::each(
        jobs,
        claim,
        start,
        |(executor, trace), number| {
            let op = ops[number as usize];
            for case in 0..CASES {
                let sample = Sample::nth(&[op], &[Mode::Valid], 0, case);
                executor.observe(&sample.drawn.case, Deadline::Short)?;
                let launched = trace.launched(&mut Changes::new())?.kernels;
                if !launched.is_disjoint(kernels) {
                    return Ok(Some(op));
                }
            }
            Ok(None)
        },
        |(executor, _)| executor.finish().map(|_| ()),
    )?;
    Ok(found)
}
