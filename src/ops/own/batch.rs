//! The samples of a batch, each as a call by itself, where a definition says that they do not depend on each other.

use super::definition::Definition;
use super::shape::Shape;
use crate::case::{Backward, Case};
use crate::tensor::{Tensor, sliced};

/// The most samples of a batch that are called by themselves: the first, the last, and some between them.
const MOST: usize = 4;

/// One of the samples of a batch.
#[derive(Debug)]
pub struct Sample {
    /// Its place in the batch.
    pub place: usize,
    /// The call with this sample alone.
    pub case: Case,
    /// How many samples the batch has.
    count: usize,
    /// The dimension of each output of the batch that has the samples; `None` for an output that has none.
    dims: Vec<Option<usize>>,
}

impl Sample {
    /// The part of each of the batch's `outputs` that is of this sample; `None` for an output that has no samples, or a wrong shape.
    pub fn parts(&self, outputs: &[Tensor]) -> Vec<Option<Tensor>> {
        let part = |(output, dim): (&Tensor, &Option<usize>)| {
            let dim = dim.filter(|dim| output.shape.get(*dim).is_some_and(|size| size % self.count == 0))?;
            Some(part(output, dim, self.place, self.count))
        };
        outputs.iter().zip(&self.dims).map(part).collect()
    }
}

/// The part of `tensor` that is of one of `count` samples along `dim`.
fn part(tensor: &Tensor, dim: usize, place: usize, count: usize) -> Tensor {
    let size = tensor.shape[dim] / count;
    // A fill has other values in other places, so the elements are listed first.
    let listed = Tensor::new(tensor.dtype, tensor.shape.clone(), tensor.expanded());
    sliced(&listed, dim, place * size, size)
}

impl Definition {
    /// Some samples of a case, if it is a batch of several and keeps to the definition.
    pub(super) fn samples(&self, case: &Case) -> Vec<Sample> {
        let Some(batch) = self.batch.as_deref() else { return Vec::new() };
        let Some((_, sizes)) = self.kept(case) else { return Vec::new() };
        let count = sizes.one.get(batch).copied().unwrap_or(1);
        let few = count.min(MOST);
        let dims: Vec<Option<usize>> =
            self.outputs.iter().map(|output| output.dim_of(batch, output.of(&sizes)?.len())).collect();
        let place = |number: usize| number * (count - 1) / (few - 1);
        let sample =
            |place: usize| Sample { place, case: self.alone(case, batch, place, count), count, dims: dims.clone() };
        if count < 2 { Vec::new() } else { (0..few).map(place).map(sample).collect() }
    }

    /// The call with one of `count` samples.
    fn alone(&self, case: &Case, batch: &str, place: usize, count: usize) -> Case {
        let mut case = Case { backward: Backward::None, ..case.contiguous() };
        for input in &self.inputs {
            let Some(data) = case.inputs.get_mut(input.name) else { continue };
            if let Some(dim) = input.shape.dim_of(batch, data.shape.len()) {
                *data = part(data, dim, place, count);
            }
        }
        if case.params.contains_key(batch) { case.param(batch, 1_usize) } else { case }
    }

    /// Panics if the samples that a definition promises cannot be told apart.
    pub(super) fn check_batch(&self) {
        let Some(batch) = self.batch.as_deref() else { return };
        let shapes = || self.inputs.iter().map(|input| &input.shape).chain(&self.outputs);
        let name = self.name;
        assert!(
            shapes().all(|shape| shape.counts(batch)),
            "{name}: a size that counts samples stands once in a shape, first in its product; `{batch}` does not"
        );
        let has = |shape: &Shape| shape.names().any(|size| size == batch);
        assert!(
            self.inputs.iter().any(|input| has(&input.shape)) && self.outputs.iter().any(has),
            "{name}: no input or no output has `{batch}` samples"
        );
        assert!(
            self.inputs.iter().all(|input| input.below() != Some(batch)),
            "{name}: labels below `{batch}` name other samples"
        );
    }
}
