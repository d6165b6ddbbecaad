//! Shrinks cases with plain proptest: every number of a case is a value tree, and the runner shrinks one after the other.
//!
//! Dimensions of the same size share a number, as in a strategy that draws `n` once and builds shapes from it; each also has
//! a number of its own. Inputs, params, dimensions, and the parts of a view or a fill can be removed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use proptest::num;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use snuffer::case::{Backward, Case};
use snuffer::tensor::{DType, Tensor, Value, Values, View};
use snuffer::tensor::{cast, resized, viewed, without_dim};

/// A number that a strategy drew.
#[derive(Debug, Clone, Copy)]
struct Drawn(Value);

/// Proptest's search for a simpler number.
#[derive(Debug)]
enum Tree {
    Int(num::i64::BinarySearch),
    Float(num::f64::BinarySearch),
}

impl Strategy for Drawn {
    type Tree = Tree;
    type Value = Value;

    fn new_tree(&self, _: &mut TestRunner) -> NewTree<Self> {
        Ok(match self.0 {
            Value::Int(int) => Tree::Int(num::i64::BinarySearch::new(int)),
            Value::Float(float) => Tree::Float(num::f64::BinarySearch::new(float)),
        })
    }
}

impl ValueTree for Tree {
    type Value = Value;

    fn current(&self) -> Value {
        match self {
            Self::Int(tree) => Value::Int(tree.current()),
            Self::Float(tree) => Value::Float(tree.current()),
        }
    }

    fn simplify(&mut self) -> bool {
        match self {
            Self::Int(tree) => tree.simplify(),
            Self::Float(tree) => tree.simplify(),
        }
    }

    fn complicate(&mut self) -> bool {
        match self {
            Self::Int(tree) => tree.complicate(),
            Self::Float(tree) => tree.complicate(),
        }
    }
}

/// Shrinks `start` while it `fails`, and returns the last failing case.
pub fn shrink(start: &Case, attempts: usize, time: Duration, fails: impl FnMut(&Case) -> bool) -> Case {
    let mut drawn = Vec::new();
    rebuilt(start, &mut |value| {
        drawn.push(Drawn(value));
        value
    });
    let assembled = |values: Vec<Value>| {
        let mut values = values.into_iter();
        rebuilt(start, &mut |value| values.next().unwrap_or(value))
    };
    let config = Config {
        max_shrink_iters: attempts as u32,
        max_shrink_time: time.as_millis() as u32,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let tree = drawn.prop_map(assembled).new_tree(&mut runner).expect("nothing is filtered");
    let fails = RefCell::new(fails);
    let test = |case: Case| {
        let failed = case.check().is_ok() && (case == *start || fails.borrow_mut()(&case));
        if failed { Err(TestCaseError::fail("the same failure")) } else { Ok(()) }
    };
    match runner.run_one(tree, test) {
        Err(TestError::Fail(_, case)) => case,
        _ => start.clone(),
    }
}

/// `case` with each of its numbers replaced by `next`, in a fixed order.
fn rebuilt(case: &Case, next: &mut dyn FnMut(Value) -> Value) -> Case {
    let mut sizes = BTreeMap::new();
    for &size in case.inputs.values().flat_map(|tensor| &tensor.shape).filter(|size| **size > 1) {
        sizes.entry(size).or_insert_with(|| next(Value::Int(size as i64)).as_i64() as usize);
    }
    let kinds = [Backward::None, Backward::Sum, Backward::Weighted, Backward::Twice];
    let backward = kinds[next(Value::Int(case.backward as i64)).as_i64() as usize];
    let mut rebuilt = Case { op: case.op.clone(), steps: case.steps.clone(), backward, ..Case::default() };
    for (name, param) in &case.params {
        let keep = kept(next);
        let mut param = param.clone();
        param.numbers_mut().into_iter().for_each(|number| *number = next(*number));
        rebuilt.params.extend(keep.then(|| (name.clone(), param)));
    }
    for (name, tensor) in &case.inputs {
        let keep = kept(next);
        let tensor = smaller(tensor, &sizes, next);
        rebuilt.inputs.extend(keep.then(|| (name.clone(), tensor)));
    }
    rebuilt
}

/// Whether an optional part stays: true until proptest shrinks the 1 to 0.
fn kept(next: &mut dyn FnMut(Value) -> Value) -> bool {
    next(Value::Int(1)).as_i64() == 1
}

fn smaller(tensor: &Tensor, sizes: &BTreeMap<usize, usize>, next: &mut dyn FnMut(Value) -> Value) -> Tensor {
    let mut new = tensor.clone();
    let alike: Vec<DType> = DType::ALL.into_iter().filter(|to| to.is_float() == tensor.dtype.is_float()).collect();
    let place = alike.iter().position(|dtype| *dtype == tensor.dtype).unwrap_or(0);
    let dtype = alike[next(Value::Int(place as i64)).as_i64() as usize];
    let dims: Vec<bool> = tensor.shape.iter().map(|_| kept(next)).collect();
    let own = |size: &usize, next: &mut dyn FnMut(Value) -> Value| next(Value::Int(*size as i64)).as_i64() as usize;
    let shape =
        tensor.shape.iter().map(|size| own(size, next).min(sizes.get(size).copied().unwrap_or(*size))).collect();
    let view = plainer(&tensor.view, next);
    match &mut new.values {
        Values::List(list) => list.iter_mut().for_each(|value| *value = rounded(tensor.dtype, next(*value))),
        Values::Fill(fill) => {
            fill.constant = rounded(tensor.dtype, next(fill.constant));
            fill.noise = fill.noise.filter(|_| kept(next));
            fill.except.retain_mut(|(_, value)| {
                *value = rounded(tensor.dtype, next(*value));
                kept(next)
            });
        }
    }
    new = resized(&viewed(&new, view), shape);
    for dim in (0..dims.len()).rev().filter(|dim| !dims[*dim]) {
        new = without_dim(&new, dim);
    }
    if dtype == new.dtype { new } else { cast(&new, dtype) }
}

fn plainer(view: &View, next: &mut dyn FnMut(Value) -> Value) -> View {
    let mut view = view.clone();
    if !view.order.is_empty() && !kept(next) {
        view.order.clear();
    }
    view.broadcast.retain(|_| kept(next));
    for count in view.before.iter_mut().chain(&mut view.after) {
        *count = next(Value::Int(*count as i64)).as_i64() as usize;
    }
    for step in &mut view.step {
        *step = 1 + next(Value::Int(*step as i64 - 1)).as_i64() as usize;
    }
    view.normalized()
}

fn rounded(dtype: DType, value: Value) -> Value {
    match value {
        Value::Float(float) if !float.is_nan() => Value::of(dtype, float),
        other => other,
    }
}
