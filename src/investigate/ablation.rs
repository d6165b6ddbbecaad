//! Which parts of a finding matter: varies each part of its minimized case and runs the case again.

use crate::case::{Case, Param};
use crate::device::Device;
use crate::examine::{Patience, violation};
use crate::exec::{Build, Executor, Limits};
use crate::generate::{Draw, random, with_sizes};
use crate::ops::{self, Op};
use crate::store::Finding;
use crate::tensor::cast;
use crate::tensor::{Tensor, Value};

/// The sizes to try in place of each size: small ones, and around a warp and a block.
const SIZES: [usize; 5] = [2, 3, 7, 33, 257];
/// How many times the values of each input are redrawn.
const DRAWS: u64 = 5;

/// Varies the parts of `finding` on `device` and describes the effect of each in a line.
pub fn ablation(finding: &Finding, device: Device, limits: Limits) -> anyhow::Result<Vec<String>> {
    let case = &finding.case;
    let Some(op) = ops::find(&case.op).filter(|_| case.steps.is_empty()) else { return Ok(Vec::new()) };
    let mut variation = Variation { executor: Executor::start(&[device], Build::Checked, limits)?, op, finding };
    let mut lines = vec![variation.dtypes(device)?];
    lines.push(variation.sizes()?);
    for (name, tensor) in &case.inputs {
        lines.push(variation.values(name, tensor)?);
    }
    for (name, place, value) in case.numbers() {
        lines.push(Some(variation.number(name, place, value)?));
    }
    if !case.is_contiguous() {
        let happens = variation.happens(&case.contiguous())?;
        lines.push(Some(
            if happens { "contiguous inputs fail, too" } else { "only in a view: contiguous inputs do not fail" }
                .to_string(),
        ));
    }
    Ok(lines.into_iter().flatten().collect())
}

/// Runs variants of a finding.
struct Variation<'a> {
    executor: Executor,
    op: &'static Op,
    finding: &'a Finding,
}

impl Variation<'_> {
    /// Whether `variant` fails as the finding does. Reduced precision in the site makes no difference.
    fn happens(&mut self, variant: &Case) -> anyhow::Result<bool> {
        if variant.check().is_err() {
            return Ok(false);
        }
        let found = violation(&mut self.executor, self.op, variant, Patience::Full)?
            .map(|violation| violation.signature(self.op.name));
        let own = &self.finding.signature;
        let plain = |site: &str| site.trim_end_matches("in reduced precision").trim_end_matches([',', ' ']).to_string();
        Ok(found.is_some_and(|found| {
            (&found.oracle, &found.kind, plain(&found.site)) == (&own.oracle, &own.kind, plain(&own.site))
        }))
    }

    /// Which of the dtypes that candle supports on the device fail in the same way, as dtypes of the main input.
    fn dtypes(&mut self, device: Device) -> anyhow::Result<Option<String>> {
        let case = &self.finding.case;
        let Some(main) = self.op.dtype(case) else { return Ok(None) };
        let (mut fail, mut pass) = (Vec::new(), Vec::new());
        for &dtype in self.op.support.on(device) {
            let mut variant = case.clone();
            for (name, tensor) in &mut variant.inputs {
                // Keep the dtype of ids.
                if tensor.dtype == main && (main.is_float() || name == self.op.support.of) {
                    *tensor = cast(tensor, dtype);
                }
            }
            for param in variant.params.values_mut().filter(|param| **param == Param::from(main.name())) {
                *param = Param::from(dtype.name());
            }
            let list = if self.happens(&variant)? { &mut fail } else { &mut pass };
            list.push(dtype.name());
        }
        Ok(Some(match (fail.len(), pass.len()) {
            (_, 0) => format!("any dtype ({})", joined(&fail)),
            (_, _) => format!("dtype {}; not {}", joined(&fail), joined(&pass)),
        }))
    }

    /// Whether other sizes fail, too. Replaces each size of the case everywhere at once.
    fn sizes(&mut self) -> anyhow::Result<Option<String>> {
        let case = &self.finding.case;
        let mut sizes: Vec<usize> = case.inputs.values().flat_map(|tensor| tensor.shape.clone()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut lines = Vec::new();
        for size in sizes {
            let mut fail = Vec::new();
            let others: Vec<usize> = SIZES.into_iter().filter(|other| *other != size).collect();
            for &other in &others {
                if self.happens(&with_sizes(case, &[(size, other)]))? {
                    fail.push(other);
                }
            }
            lines.push(match fail.len() {
                0 => format!("dimensions of size {size}: only this size (tried {})", joined(&others)),
                n if n == others.len() => format!("dimensions of size {size}: any size (tried {})", joined(&others)),
                _ => format!("dimensions of size {size}: also {} of {}", joined(&fail), joined(&others)),
            });
        }
        Ok((!lines.is_empty()).then(|| lines.join("; ")))
    }

    /// Whether the values of an input matter. Draws other values.
    fn values(&mut self, name: &str, tensor: &Tensor) -> anyhow::Result<Option<String>> {
        if tensor.stored().is_none_or(|count| count == 0) {
            return Ok(None);
        }
        let mut failed = 0;
        for seed in 0..DRAWS {
            let bytes = random("values", seed, 0);
            let Ok(drawn) = Draw::new(&bytes).tensor_in(tensor.dtype, &tensor.shape, tensor.view.clone()) else {
                continue;
            };
            failed += u64::from(self.happens(&self.finding.case.clone().input(name, drawn))?);
        }
        Ok(Some(match failed {
            0 => format!("the values of `{name}` matter: none of {DRAWS} random ones fail"),
            DRAWS => format!("any values of `{name}` ({DRAWS} random ones fail)"),
            some => format!("the values of `{name}`: {some} of {DRAWS} random ones fail"),
        }))
    }

    /// Whether a number among the params matters.
    fn number(&mut self, name: &str, place: usize, own: Value) -> anyhow::Result<String> {
        let case = &self.finding.case;
        let is_item = matches!(case.params.get(name), Some(Param::List(_)));
        let label = if is_item { format!("`{name}[{place}]`") } else { format!("`{name}`") };
        let others: Vec<Value> = match own {
            Value::Int(_) => [0, 1, 2, 3, 7].map(Value::Int).to_vec(),
            Value::Float(_) => [0.0, 0.5, 1.0, -1.0, 10.0].map(Value::Float).to_vec(),
        };
        let others: Vec<Value> = others.into_iter().filter(|other| *other != own).collect();
        let mut fail = Vec::new();
        for &other in &others {
            if self.happens(&case.with_number(name, place, other))? {
                fail.push(other);
            }
        }
        Ok(match fail.len() {
            0 => format!("{label} matters: not with {}", joined(&others)),
            n if n == others.len() => format!("any {label} (tried {})", joined(&others)),
            _ => format!("{label}: also {} of {}", joined(&fail), joined(&others)),
        })
    }
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
