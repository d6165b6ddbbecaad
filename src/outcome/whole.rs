//! Whether an observation that was read from a file is whole, and fits its case: a file may say anything.

use super::{Gradients, Observation, Outcome};
use crate::case::Case;
use crate::tensor::Tensor;

impl Observation {
    /// Checks that each tensor has a value for each of its elements, and that each gradient is one of an input.
    pub fn check(&self, case: &Case) -> Result<(), String> {
        let others = [&self.again, &self.contiguous, &self.sibling].into_iter().flatten().chain(&self.samples);
        let trained = self.training.iter().flat_map(|training| [&training.outcome].into_iter().chain(&training.again));
        let others = others.chain(trained);
        let outcomes = || [&self.outcome].into_iter().chain(others.clone());
        outcomes().try_for_each(Outcome::check)?;
        let Outcome::Returned(returned) = &self.outcome else { return Ok(()) };
        let Gradients::Returned(store) = &returned.backward else { return Ok(()) };
        match store.gradients.keys().find(|name| case.tensor(name).is_none()) {
            Some(name) => Err(format!("it has a gradient of `{name}`, which is no input of the case")),
            None => Ok(()),
        }
    }
}

impl Outcome {
    fn check(&self) -> Result<(), String> {
        let Self::Returned(returned) = self else { return Ok(()) };
        let store = if let Gradients::Returned(store) = &returned.backward { Some(store) } else { None };
        let gradients = store.into_iter().flat_map(|store| store.gradients.values().chain(store.second.values()));
        returned.outputs.iter().chain(gradients).try_for_each(Tensor::check_output)
    }
}
