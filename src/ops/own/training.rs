//! A few steps of gradient descent, as an op beside the one whose loss they lower.

use candle_core::{DType, Error, Result, Tensor, Var};

use super::Function;
use crate::ops::Call;

/// How a definition says that its loss is trained.
#[derive(Debug, Clone, Copy)]
pub struct Descent {
    /// The number of steps.
    pub steps: usize,
    /// The share of the gradient that a step goes.
    pub rate: f64,
}

impl Descent {
    /// Lowers `loss` by steps against the gradients of `parameters`. Returns the loss of each step, then for each step and parameter
    /// 1 if there was a gradient, then each parameter as it was before each step.
    pub(super) fn run(self, args: &Call, parameters: &[&'static str], loss: &Function) -> Result<Vec<Tensor>> {
        let mut call = Call { tensors: args.tensors.clone(), ..*args };
        let (mut losses, mut has_gradient) = (Vec::new(), Vec::new());
        let mut paths: Vec<Vec<Tensor>> = vec![Vec::new(); parameters.len()];
        for _ in 0..self.steps {
            let vars =
                parameters.iter().map(|name| Var::from_tensor(call.tensor(name)?)).collect::<Result<Vec<_>>>()?;
            call.tensors.extend(parameters.iter().copied().zip(vars.iter().map(|var| var.as_tensor().clone())));
            let outputs = loss(&call)?;
            let [value] = outputs.as_slice() else { return Err(Error::Msg("a loss is one tensor".to_string())) };
            let gradients = value.backward()?;
            losses.push(value.detach().to_dtype(DType::F64)?.reshape(())?);
            for ((name, var), path) in parameters.iter().zip(&vars).zip(&mut paths) {
                let (here, gradient) = (var.as_detached_tensor(), gradients.get(var));
                has_gradient.push(u8::from(gradient.is_some()));
                let next = gradient.map_or(Ok(here.clone()), |gradient| &here - (gradient.detach() * self.rate)?)?;
                path.push(here);
                call.tensors.insert(name, next);
            }
        }
        let has_gradient = Tensor::from_vec(has_gradient, (self.steps, parameters.len()), args.device)?;
        let paths = paths.iter().map(|path| Tensor::stack(path, 0)).collect::<Result<Vec<_>>>()?;
        Ok([Tensor::stack(&losses, 0)?, has_gradient].into_iter().chain(paths).collect())
    }
}
