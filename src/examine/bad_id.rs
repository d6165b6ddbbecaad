//! An id or label outside the dimension that it indexes: which element it is, and of which dimension.

use crate::case::Case;
use crate::ops::{Contract, Op, in_range, is_sentinel, rule};
use crate::tensor::{Fill, Tensor, Value, Values, index_of, resized};

/// Ids that a contract rejects because one of them is outside the dimension that they index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    /// The input that holds the ids.
    pub input: String,
    /// The index of the first id that is outside.
    pub index: Vec<usize>,
    /// That id.
    pub id: i64,
    /// The input that the ids index.
    pub of: String,
    /// The dimension of it.
    pub dim: usize,
    /// The size of that dimension.
    pub size: usize,
    /// Whether they are labels, so that the size is a number of classes.
    pub is_label: bool,
    /// Whether that id is the largest of its dtype, which candle's kernels treat differently.
    pub is_largest: bool,
}

impl BadId {
    /// The bad id of `case`; `None` if it is rejected for another reason or not at all.
    ///
    /// A contract does not say which dimension its ids index. It is the one that decides where they stop being valid: with
    /// every id equal to its size the call is invalid, and valid once that dimension alone is one larger.
    pub fn find(op: &Op, case: &Case) -> Option<Self> {
        let rule = match op.contract(case) {
            Contract::Rejects(rule) if [&rule::LABEL, &rule::ID].contains(&rule) => rule,
            _ => return None,
        };
        for (input, ids) in case.inputs.iter().filter(|(_, tensor)| !tensor.dtype.is_float()) {
            for (of, table) in case.inputs.iter().filter(|(of, _)| *of != input) {
                for (dim, &size) in table.shape.iter().enumerate() {
                    let outside = Values::Fill(Fill::constant(Value::Int(size as i64)));
                    let at_end = case.clone().input(input, Tensor { values: outside, ..ids.clone() });
                    let grown = at_end.clone().input(of, with_size(table, dim, size + 1));
                    let is_bound = op.contract(&at_end) == Contract::Rejects(rule)
                        && matches!(op.contract(&grown), Contract::Accepts { .. });
                    if is_bound {
                        let is_bad = |&id: &i64| {
                            !in_range(id, size) && (*rule == rule::LABEL || !is_sentinel(id, ids.dtype, size))
                        };
                        let all = ids.ints();
                        let place = all.iter().position(is_bad)?;
                        return Some(Self {
                            input: input.clone(),
                            index: index_of(place, &ids.shape),
                            id: all[place],
                            of: of.clone(),
                            dim,
                            size,
                            is_label: *rule == rule::LABEL,
                            is_largest: is_sentinel(all[place], ids.dtype, size),
                        });
                    }
                }
            }
        }
        None
    }

    /// `case` with another size of the dimension. Ids outside it move along and stay outside; others stay inside. `None` if the
    /// dtype cannot hold them.
    pub fn with_size(&self, case: &Case, size: usize) -> Option<Case> {
        let (old, new) = (self.size as i64, size as i64);
        let resized = case.clone().input(&self.of, with_size(case.tensor(&self.of)?, self.dim, size));
        self.with_ids(&resized, |id| match in_range(id, self.size) {
            true => id.min(new - 1),
            false if self.is_largest => id,
            false => id.saturating_add(new - old),
        })
    }

    /// `case` with ids that are further outside. `None` if the dtype cannot hold them.
    pub fn further(&self, case: &Case, by: i64) -> Option<Case> {
        self.with_ids(case, |id| if in_range(id, self.size) { id } else { id.saturating_add(by) })
    }

    fn with_ids(&self, case: &Case, moved: impl Fn(i64) -> i64) -> Option<Case> {
        let ids = case.tensor(&self.input)?;
        let (lowest, largest) = ids.dtype.int_range()?;
        let old: Vec<i64> = ids.values.to_vec(ids.stored()?).into_iter().map(Value::as_i64).collect();
        // An id must not become the largest, which has a meaning of its own.
        let is_held = |&id: &i64| (lowest..largest).contains(&moved(id)) || id == moved(id);
        let values = Values::List(old.iter().map(|&id| Value::Int(moved(id))).collect());
        old.iter().all(is_held).then(|| case.clone().input(&self.input, Tensor { values, ..ids.clone() }))
    }

    /// What an id is called, and what the size counts.
    pub fn nouns(&self) -> (&'static str, &'static str) {
        if self.is_label { ("label", "number of classes") } else { ("id", "size of the dimension") }
    }

    /// Where the bad id is: `at [2] of target`.
    pub fn place(&self) -> String {
        if self.index.is_empty() {
            format!("in {}", self.input)
        } else {
            format!("at {:?} of {}", self.index, self.input)
        }
    }
}

impl std::fmt::Display for BadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, of, dim, size, is_label, .. } = self;
        match (is_label, size) {
            (true, 1) => write!(f, "label {id} of 1 class"),
            (true, _) => write!(f, "label {id} of {size} classes"),
            (false, _) => write!(f, "id {id} of dimension {dim} of {of}, whose size is {size}"),
        }
    }
}

fn with_size(tensor: &Tensor, dim: usize, size: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = size;
    resized(tensor, shape)
}
