//! `--candle`: another candle than the release under test, with which workers are built.

use std::sync::Arc;

use super::{Pattern, StoreArg, UsageError};
use crate::CANDLE;
use crate::candles::{Named, edited_kernels, prepare};
use crate::case::Case;
use crate::device::Device;
use crate::exec::{CandleUnderTest, EditedKernels, WorkerSpec};
use crate::kernels::{self, Edits};
use crate::ops::Op;
use crate::tensor::DType;

/// The candle that workers have, if one is named.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CandleArg {
    /// Test this candle instead: a release such as `0.11.0`, a checkout or some of its crates, a folder of patches, or `fixes`
    /// (`fixes:NAME,NAME` for some). `+cudnn` at the end, or alone, builds it with cuDNN. Its workers are built once, in minutes.
    #[arg(long = "candle", help_heading = "Candle under test", id = "candle", value_name = "WHAT")]
    pub named: Option<String>,
}

impl CandleArg {
    /// `spec` with the candle that is named, whose workers for `devices` are built. Says on the error stream which ops it lacks.
    pub fn apply(&self, devices: &[Device], spec: WorkerSpec) -> anyhow::Result<WorkerSpec> {
        let Some(named) = &self.named else { return Ok(spec) };
        let candle = candle_under_test(named, devices)?;
        match &candle {
            None => eprintln!("testing   {named}, which is candle {CANDLE}, the release under test"),
            Some(candle) => {
                eprintln!("testing   {candle}");
                if !candle.lacks.is_empty() {
                    eprintln!("left out  {}, which it lacks", candle.lacks.join(", "));
                }
                if candle.few_dtypes {
                    eprintln!("left out  the dtypes {}, which it lacks", DType::RECENT.map(DType::name).join(", "));
                }
            }
        }
        Ok(WorkerSpec { candle, ..spec })
    }

    /// The store of findings of this candle, a folder of `store` or that itself.
    pub fn store(&self, store: &StoreArg) -> anyhow::Result<StoreArg> {
        let Some(named) = self.named.as_ref().filter(|named| *named != CANDLE) else { return Ok(store.clone()) };
        Ok(store.within(&format!("candle-{}", Named::parse(named)?.folder())))
    }
}

/// The candle that `named` names, whose workers for `devices` are built. `None` for the release under test.
pub fn candle_under_test(named: &str, devices: &[Device]) -> anyhow::Result<Option<Arc<CandleUnderTest>>> {
    let kernels = replaced(named, devices)?;
    if let Some(kernels) = &kernels {
        eprintln!("edited    {} of {named}", kernels.files.join(", "));
    }
    prepare(named, devices, kernels)
}

/// The kernels that a simulated device can load in place of those of the release under test, if there are some and their candle needs no
/// other worker for them: compiling one takes seconds, building all into a worker minutes.
fn replaced(named: &str, devices: &[Device]) -> anyhow::Result<Option<Arc<EditedKernels>>> {
    let simulated = devices.iter().find(|device| matches!(device, Device::Sim(_)));
    let Some((folder, &device)) = edited_kernels(named)?.zip(simulated) else { return Ok(None) };
    match Edits::compile(&folder, device) {
        Ok(edits) => Ok(edits.kernels.filter(|_| edits.ignored.is_empty())),
        Err(error) if matches!(error.downcast_ref(), Some(kernels::Unusable::OtherParameters(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `ops` without those that `candle` lacks. Ops that are named one by one must be there.
pub fn present(
    ops: Vec<&'static Op>,
    named: &[Pattern],
    candle: Option<&CandleUnderTest>,
) -> Result<Vec<&'static Op>, UsageError> {
    let Some(candle) = candle else { return Ok(ops) };
    let lacks = |name: &str| candle.lacks.iter().any(|lacking| lacking == name);
    let (missing, there): (Vec<_>, Vec<_>) = ops.into_iter().partition(|op| lacks(op.name));
    let asked = missing.iter().find(|op| there.is_empty() || named.iter().any(|named| named.to_string() == op.name));
    asked.map_or(Ok(there), |op| Err(UsageError(format!("{candle} lacks `{}`; choose other ops", op.name))))
}

/// Refuses a case of an op or a dtype that the candle lacks.
pub fn check_lacking(case: &Case, spec: &WorkerSpec) -> Result<(), UsageError> {
    spec.lacks(case).map_or(Ok(()), |(candle, what)| {
        Err(UsageError(format!("{candle} lacks `{what}`; run the case without --candle")))
    })
}
