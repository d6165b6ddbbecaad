//! Which parts of a finding matter: varies each part of its minimized case and runs the case again. Only what bounds the failure is
//! said. A label varies together with its number of classes, an id with the dimension that it indexes.

mod work;

use std::mem::discriminant;
use std::time::{Duration, Instant};

use crate::case::{Case, Param};
use crate::device::Device;
use crate::examine::{BadId, Patience, violations};
use crate::exec::{Executor, Limits};
use crate::generate::{Draw, random, with_sizes};
use crate::ops::{self, Contract, Op};
use crate::oracle::{OracleName, Rank, Signature, Violation};
use crate::store::Finding;
use crate::tensor::{DType, Tensor, Value, cast};
use work::is_affordable;
pub use work::takes_long;

/// The sizes to try in place of each size: small ones, and around a warp and a block.
const SIZES: [usize; 5] = [2, 3, 7, 33, 257];
/// How many times the values of each input are redrawn.
const DRAWS: u64 = 5;
/// How much further outside of its dimension a bad id is tried.
const FURTHER: [i64; 3] = [1, 7, 100];

/// Varies the parts of `finding` on its devices and describes the effect of each in a line, for as long as `within`. Tells each part
/// before it is varied. No lines if the finding does not happen again.
pub fn ablation(
    finding: &Finding,
    limits: Limits,
    within: Duration,
    tell: &dyn Fn(&str),
) -> anyhow::Result<Vec<String>> {
    let case = &finding.case;
    let Some(op) = ops::find(&case.op).filter(|_| case.steps.is_empty()) else { return Ok(Vec::new()) };
    // An agreement needs them all.
    let devices: Vec<Device> = finding.observations.iter().map(|seen| seen.device).collect();
    let executor = Executor::start(&devices, &limits.into())?;
    let mut variation = Variation { executor, op, finding, until: Instant::now() + within, is_cut: false };
    if variation.how(case)? != How::Fails {
        return Ok(Vec::new());
    }
    if matches!(op.contract(case), Contract::Unspecified(_)) {
        // Nothing is promised of most variants either.
        return Ok(Vec::new());
    }
    if finding.signature.rank() == Rank::Cost {
        tell("growth");
        return variation.growth();
    }
    let bad_id = BadId::find(op, case);
    tell("dtypes");
    let mut lines = vec![variation.dtypes(finding.violation.device)?];
    if let Some(bad_id) = &bad_id {
        tell("ids");
        lines.extend(variation.ids(bad_id)?);
    }
    tell("values");
    lines.extend(variation.all_values(bad_id.as_ref())?.into_iter().map(Some));
    for (name, place, value) in case.numbers() {
        tell(name);
        lines.push(variation.number(name, place, value)?);
    }
    if !case.is_plain() {
        lines.push(match variation.how(&case.contiguous())? {
            How::Fails => Some("contiguous inputs fail too".to_string()),
            How::Passes => Some("only in a view: contiguous inputs do not fail".to_string()),
            How::Otherwise => None,
        });
    }
    if variation.is_cut {
        lines.push(Some("there was no time to try more".to_string()));
    }
    Ok(lines.into_iter().flatten().collect())
}

/// Runs variants of a finding.
struct Variation<'a> {
    executor: Executor,
    op: &'static Op,
    finding: &'a Finding,
    /// When to stop.
    until: Instant,
    /// Whether that was before all was tried.
    is_cut: bool,
}

impl Variation<'_> {
    /// How `variant` fares. A site that differs only by what was varied makes no difference.
    fn how(&mut self, variant: &Case) -> anyhow::Result<How> {
        let own = self.finding.signature.on_one_device();
        let found = violations(&mut self.executor, self.op, variant, Patience::Full)?;
        let is_it = |other: &Signature| own.is_alike(other) || is_in_kernel_of_another_dtype(&own, other);
        Ok(match () {
            () if found.iter().any(|violation| is_it(&violation.signature(self.op.name))) => How::Fails,
            () if found.is_empty() => How::Passes,
            () => How::Otherwise,
        })
    }

    /// The cost at the largest size of the case, and with it doubled and doubled again: a line for each.
    fn growth(&mut self) -> anyhow::Result<Vec<String>> {
        let (case, own) = (&self.finding.case, self.finding.signature.on_one_device());
        let sizes = case.inputs.values().flat_map(|tensor| &tensor.shape);
        let Some(&largest) = sizes.max() else { return Ok(Vec::new()) };
        let mut lines = vec![format!("size {largest}: {}", self.finding.violation.detail)];
        for size in [2, 4].map(|times| largest.saturating_mul(times)) {
            let larger = with_sizes(case, &[(largest, size)]);
            if !is_affordable(case, largest, size) || takes_long(self.op, &larger) || Instant::now() >= self.until {
                break;
            }
            let found = violations(&mut self.executor, self.op, &larger, Patience::Full)?;
            let is_it = |violation: &&Violation| own.is_alike(&violation.signature(self.op.name));
            lines.extend(found.iter().find(is_it).map(|violation| format!("size {size}: {}", violation.detail)));
        }
        Ok(lines)
    }

    /// Which of the dtypes that candle supports on the device fail in the same way, as dtypes of the main input.
    fn dtypes(&mut self, device: Device) -> anyhow::Result<Option<String>> {
        let case = &self.finding.case;
        let Some(main) = self.op.dtype(case) else { return Ok(None) };
        let mut variants = Vec::new();
        // Only floats have gradients.
        let needs_float = [OracleName::Gradient, OracleName::SecondDerivative].contains(&self.finding.signature.oracle);
        for &dtype in self.op.support.on(device).iter().filter(|dtype| dtype.is_float() || !needs_float) {
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
            variants.push((dtype.name(), variant));
        }
        let tried = self.tried(variants)?;
        let (fail, pass) = (&tried.fail, &tried.pass);
        let bounds = !fail.is_empty() && !pass.is_empty();
        Ok(bounds.then(|| format!("dtype {}; not {}{}", joined(fail), joined(pass), tried.others())))
    }

    /// Whether a bad id fails with other sizes of the dimension that it indexes, and further outside of it.
    fn ids(&mut self, bad: &BadId) -> anyhow::Result<[Option<String>; 2]> {
        let case = &self.finding.case;
        let (noun, counted) = bad.nouns();
        let beyond = match bad.id.saturating_sub(bad.size as i64) {
            _ if bad.is_largest => format!("{noun} {}, the largest of its dtype", bad.id),
            _ if bad.id < 0 => format!("{noun} {}", bad.id),
            0 => format!("{noun} = {counted}"),
            more => format!("{noun} = {counted} + {more}"),
        };
        let other = SIZES.into_iter().filter(|&size| size != bad.size);
        let sizes = self.tried(other.filter_map(|size| Some((size, bad.with_size(case, size)?))).collect())?;
        let further = FURTHER.into_iter().filter_map(|by| Some((by, bad.further(case, by)?))).collect();
        let further = self.tried(further)?;
        Ok([
            match sizes.all() {
                Some(tried) => Some(format!("any {counted} fails with {beyond} (tried {tried})")),
                None => sizes.line(&format!("{counted}, with {beyond}")),
            },
            match further.all() {
                Some(tried) => Some(format!("any {noun} further outside fails too (tried {tried} more)")),
                None => further.line(&format!("{noun}s further outside")),
            },
        ])
    }

    /// Whether as much is promised of `variant` as of the case. What another call does says nothing about this one.
    fn is_comparable(&self, variant: &Case) -> bool {
        match (self.op.contract(&self.finding.case), self.op.contract(variant)) {
            (Contract::Rejects(rule), Contract::Rejects(other)) => rule == other,
            (own, other) => discriminant(&own) == discriminant(&other),
        }
    }

    /// Which of these variants fail, of those that can be compared.
    fn tried<T>(&mut self, variants: Vec<(T, Case)>) -> anyhow::Result<Tried<T>> {
        let mut tried = Tried { fail: Vec::new(), pass: Vec::new(), otherwise: Vec::new() };
        for (name, variant) in
            variants.into_iter().filter(|(_, variant)| variant.check().is_ok() && self.op.check(variant).is_ok())
        {
            if !self.is_comparable(&variant) || takes_long(self.op, &variant) {
                continue;
            }
            if Instant::now() >= self.until {
                self.is_cut = true;
                break;
            }
            let list = match self.how(&variant)? {
                How::Fails => &mut tried.fail,
                How::Passes => &mut tried.pass,
                How::Otherwise => &mut tried.otherwise,
            };
            list.push(name);
        }
        Ok(tried)
    }

    /// A line for each input whose values matter. Ids are varied elsewhere.
    fn all_values(&mut self, bad_id: Option<&BadId>) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        let inputs = self.finding.case.inputs.iter();
        for (name, tensor) in inputs.filter(|(name, _)| bad_id.is_none_or(|bad| bad.input != **name)) {
            let Tried { fail, pass, otherwise } = self.values(name, tensor)?;
            if fail.is_empty() && otherwise.is_empty() && !pass.is_empty() {
                lines.push(format!("the values of `{name}` matter: none of {} random tensors fail", pass.len()));
            }
        }
        Ok(lines)
    }

    /// Which random values of an input fail.
    fn values(&mut self, name: &str, tensor: &Tensor) -> anyhow::Result<Tried<u64>> {
        let mut variants = Vec::new();
        for seed in (0..DRAWS).filter(|_| tensor.stored().is_some_and(|count| count > 0)) {
            let bytes = random("values", seed, 0);
            let Ok(drawn) = Draw::new(&bytes).tensor_in(tensor.dtype, &tensor.shape, tensor.view.clone()) else {
                continue;
            };
            let mut variant = self.finding.case.clone().input(name, drawn);
            variant.repair_shared();
            variants.push((seed, variant));
        }
        self.tried(variants)
    }

    /// Whether a number among the params matters.
    fn number(&mut self, name: &str, place: usize, own: Value) -> anyhow::Result<Option<String>> {
        let case = &self.finding.case;
        let is_item = matches!(case.params.get(name), Some(Param::List(_)));
        let label = if is_item { format!("`{name}[{place}]`") } else { format!("`{name}`") };
        let others: Vec<Value> = match own {
            Value::Int(_) => [0, 1, 2, 3, 7].map(Value::Int).to_vec(),
            Value::Float(_) => [0.0, 0.5, 1.0, -1.0, 10.0].map(Value::Float).to_vec(),
        };
        let others: Vec<Value> = others.into_iter().filter(|other| *other != own).collect();
        let variants = others.into_iter().map(|other| (other, case.with_number(name, place, other))).collect();
        Ok(self.tried(variants)?.line(&label))
    }
}

/// Whether `other` is the failure `own` in the same kernel for another dtype, such as `affine_f64` and `affine_f32`.
fn is_in_kernel_of_another_dtype(own: &Signature, other: &Signature) -> bool {
    let without_dtypes = |signature: &Signature| {
        let words = signature.site.spot()?.name().split('_').filter(|word| DType::named(word).is_none());
        Some(words.map(String::from).collect::<Vec<_>>())
    };
    let is_alike = (&own.oracle, &own.kind) == (&other.oracle, &other.kind);
    is_alike && without_dtypes(own).is_some_and(|name| Some(name) == without_dtypes(other))
}

/// How a variant fares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It fails as the finding does.
    Fails,
    Passes,
    /// It fails in another way, which says nothing about this one.
    Otherwise,
}

/// Names of the variants that were tried, by how they fare.
struct Tried<T> {
    fail: Vec<T>,
    pass: Vec<T>,
    otherwise: Vec<T>,
}

impl<T: ToString> Tried<T> {
    /// The names of all variants, if there are any and all fail.
    fn all(&self) -> Option<String> {
        (self.pass.is_empty() && self.otherwise.is_empty() && !self.fail.is_empty()).then(|| joined(&self.fail))
    }

    /// The variants that fail in another way, after the others.
    fn others(&self) -> String {
        let fail = if self.otherwise.len() == 1 { "fails" } else { "fail" };
        if self.otherwise.is_empty() {
            String::new()
        } else {
            format!("; {} {fail} in another way", joined(&self.otherwise))
        }
    }

    /// The limits of the failure in `what`; `None` if it has none there.
    fn line(&self, what: &str) -> Option<String> {
        let (fail, pass) = (joined(&self.fail), joined(&self.pass));
        match (self.fail.len(), self.pass.len()) {
            (0, 0) => None,
            (_, 0) => None,
            (0, _) if self.otherwise.is_empty() => Some(format!("{what}: only this (tried {pass})")),
            (0, _) => Some(format!("{what}: not {pass}{}", self.others())),
            (_, _) => Some(format!("{what}: also {fail}; not {pass}{}", self.others())),
        }
    }
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
