//! `snuffer hunt --resume`: goes on with the last campaign as it was, or says why it cannot.

use std::collections::BTreeSet;

use super::UsageError;
use crate::device::Device;
use crate::exec::{CandleUnderTest, EditedKernels, WorkerSpec};
use crate::generate::Mode;
use crate::settle::versions;
use crate::store::{IsRunning, Limit, Log, Record, Store};

/// The files and the record of the campaign that began last. No other process runs it from now on.
pub fn last(store: &Store) -> anyhow::Result<(Log, Record)> {
    let Some(name) = Record::names(&store.campaigns())?.pop() else {
        return Err(UsageError("there is no campaign to resume; start one without --resume".to_string()).into());
    };
    let mut log = Log::open(&store.campaigns(), &name).map_err(|error| match error.downcast::<IsRunning>() {
        Ok(running) => UsageError(running.to_string()).into(),
        Err(error) => error,
    })?;
    // What was saved before the lock was taken may be old.
    let record = log.saved()?;
    check(&name, &record)?;
    log.forget_from(record.next)?;
    Ok((log, record))
}

/// Says which campaign goes on. That may not be the one that the user means.
pub fn announce(store: &Store, log: &Log) -> anyhow::Result<()> {
    let name = log.name();
    match Record::begun(&store.campaigns())?.pop().filter(|last| *last != name) {
        None => eprintln!("resuming  the campaign {name}"),
        Some(last) => eprintln!(
            "resuming  the campaign {name}; {last} began later but ended before its first case: start that one again without \
             --resume"
        ),
    }
    Ok(())
}

/// Whether this build can go on with a campaign.
fn check(name: &str, record: &Record) -> Result<(), UsageError> {
    let is_mode = |name: &String| Mode::find(name).is_some();
    let problem = match () {
        () if record.imported => "the last campaign is an import, which cannot be resumed; run it again".to_string(),
        () if record.versions != versions(record.candle.as_ref()) => format!(
            "the campaign {name} ran with {}, but this is {}; start a new one with `snuffer hunt --seed {}`",
            record.versions,
            versions(record.candle.as_ref()),
            record.seed
        ),
        () if record.ops.is_empty() || record.modes.is_empty() || !record.modes.iter().all(is_mode) => {
            format!("the record of the campaign {name} does not say what to hunt; start a new one without --resume")
        }
        () => return Ok(()),
    };
    Err(UsageError(problem))
}

/// When the resumed campaign is over: when it would have been, unless something else is said.
pub fn limit(said: Option<Limit>, record: &Record) -> Result<Limit, UsageError> {
    match said {
        Some(limit) => Ok(limit),
        None if record.finished || record.limit == Limit::default() => Err(UsageError(
            "the last campaign has run to its end; say how many cases it has in all with --cases, or how much longer it runs \
             with --time"
                .to_string(),
        )),
        None => Ok(record.limit),
    }
}

/// Whether workers have the candle and the kernels of the campaign.
pub fn check_candle(record: &Record, spec: &WorkerSpec) -> Result<(), UsageError> {
    let (candle, kernels) = (record.candle.as_ref(), record.kernels.as_ref());
    let differ = if !CandleUnderTest::same(candle, spec.candle.as_deref()) {
        [candle, spec.candle.as_deref()].map(CandleUnderTest::described)
    } else if !EditedKernels::same(kernels, spec.kernels.as_deref()) {
        [kernels, spec.kernels.as_deref()].map(EditedKernels::described)
    } else {
        return Ok(());
    };
    let [ran, these] = differ;
    Err(UsageError(format!("the campaign ran with {ran}, but this is with {these}; start a new one without --resume")))
}

/// The devices of a campaign, those that it lost among them. Its cases belong together, so all of them run on the same devices:
/// `named` may only repeat those.
pub fn devices(named: &[Device], record: &Record) -> Result<Vec<Device>, UsageError> {
    let own = record.devices.iter().map(|name| name.parse()).collect::<Result<Vec<Device>, _>>().map_err(UsageError)?;
    let set = |devices: &[Device]| devices.iter().copied().collect::<BTreeSet<_>>();
    if own.is_empty() || !named.is_empty() && set(named) != set(&own) {
        let shown = |devices: &[Device]| devices.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        return Err(UsageError(format!(
            "the campaign runs on {own}, and --device or SNUFFER_DEVICES says {}; use `snuffer hunt --resume --device {own}`, \
             or start a new campaign without --resume",
            shown(named),
            own = shown(&own)
        )));
    }
    Ok(own)
}
