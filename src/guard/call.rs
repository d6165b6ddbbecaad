//! A call of the catalog, checked against its contract before it runs.

use candle_core::{DeviceLocation, Tensor};

use super::{Refused, one_device};
use crate::case::{Case, Param};
use crate::device::Device;
use crate::ops::{self, Contract, Op, Rule, why};
use crate::run;
use crate::tensor::{self, DType, Fill, Value, Values, View, index_of};

/// A call of an op of the catalog (`snuffer ops` lists them) with its tensors and params, named as in cases.
///
/// [`Call::check`] reads each integer once. It does not read floats, as no contract depends on their values.
/// [`super::finite`] reads them.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    op: &'a str,
    inputs: Vec<(&'a str, &'a Tensor)>,
    params: Vec<(&'a str, Param)>,
    device: Option<Device>,
}

impl<'a> Call<'a> {
    /// A call of the op of this name, such as `loss.cross_entropy`.
    pub fn new(op: &'a str) -> Self {
        Self { op, inputs: Vec::new(), params: Vec::new(), device: None }
    }

    /// Adds a tensor.
    #[must_use]
    pub fn input(mut self, name: &'a str, tensor: &'a Tensor) -> Self {
        self.inputs.push((name, tensor));
        self
    }

    /// Adds an argument that is not a tensor.
    #[must_use]
    pub fn param(mut self, name: &'a str, value: impl Into<Param>) -> Self {
        self.params.push((name, value.into()));
        self
    }

    /// Sets the device that the call will run on, if the tensors are not there yet.
    #[must_use]
    pub fn on(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Refuses a call that its contract rejects: candle should refuse it, but may instead assert, fault or be silently wrong. Also
    /// refuses dtypes that candle has no code for on the device, and tensors on different devices. Unspecified calls pass.
    pub fn check(&self) -> Result<(), Refused> {
        self.fits().map_err(|problem| Refused::whole(self.op, &problem))?;
        one_device(&self.inputs)?;
        let op = ops::named(self.op).map_err(|problem| Refused::whole(self.op, &problem))?;
        let case = self.case()?;
        let listed = self.device().is_none_or(|device| op.supports(&case, device));
        match op.contract(&case) {
            Contract::Rejects(rule) => Err(breaks(op, &case, rule)),
            Contract::Accepts { refusal: Some(why::DTYPE), .. } => Err(described(op, &case, why::DTYPE, None)),
            Contract::Accepts { .. } if !listed => Err(described(op, &case, why::DTYPE, None)),
            Contract::Accepts { .. } | Contract::Unspecified(_) => Ok(()),
        }
    }

    /// Checks that the op takes these tensors and params, and needs no others. Reads no tensor. The error is a sentence.
    pub fn fits(&self) -> Result<(), String> {
        let mut case = self.params();
        let nothing = || tensor::Tensor::new(DType::F32, vec![0], Vec::new());
        case.inputs = self.inputs.iter().map(|(name, _)| ((*name).to_string(), nothing())).collect();
        ops::accept(case).map(|_| ())
    }

    /// Why nothing is promised for the call, if nothing is: it may do anything, but [`Call::check`] has no reason to refuse it.
    pub fn unspecified(&self) -> Option<&'static str> {
        let (op, case) = (ops::find(self.op)?, self.case().ok()?);
        if let Contract::Unspecified(why) = op.contract(&case) { Some(why) } else { None }
    }

    fn device(&self) -> Option<Device> {
        let location = || match self.inputs.first()?.1.device().location() {
            DeviceLocation::Cpu => Some(Device::Cpu),
            DeviceLocation::Cuda { gpu_id } => Some(Device::Cuda(gpu_id as u8)),
            DeviceLocation::Metal { .. } => None,
        };
        self.device.or_else(location)
    }

    /// The params of the call, each number in the form of the param's type.
    fn params(&self) -> Case {
        let mut case = Case::new(self.op);
        case.params = self.params.iter().map(|(name, param)| ((*name).to_string(), param.clone())).collect();
        if let Some(op) = ops::find(self.op) {
            op.normalize(&mut case);
        }
        case
    }

    /// The call as a case. Floats are not read: each is 1.
    #[doc(hidden)]
    pub fn case(&self) -> Result<Case, Refused> {
        let mut case = self.params();
        for &(name, tensor) in &self.inputs {
            let plain = plain(tensor).map_err(|error| Refused::unreadable(name, &error))?;
            case.inputs.insert(name.to_string(), plain);
        }
        Ok(case)
    }
}

/// The tensor as contracts see it.
fn plain(tensor: &Tensor) -> candle_core::Result<tensor::Tensor> {
    tensor::elements(tensor.dims()).map_err(candle_core::Error::wrap)?;
    let Some(dtype) = ops::case_dtype(tensor.dtype()) else {
        candle_core::bail!("is {}, a dtype that snuffer does not support", tensor.dtype().as_str())
    };
    let view = view(tensor);
    let values = if dtype.is_float() {
        Values::Fill(Fill::constant(Value::Float(1.0)))
    } else {
        let stored = view.broadcast.iter().try_fold(tensor.clone(), |tensor, &dim| tensor.narrow(dim, 0, 1))?;
        run::read(&stored)?.values
    };
    Ok(tensor::Tensor { dtype, shape: tensor.dims().to_vec(), view, values })
}

/// A view that is contiguous, permuted or broadcast like that of `tensor`; contracts ask for nothing else.
fn view(tensor: &Tensor) -> View {
    let (shape, strides) = (tensor.dims(), tensor.stride());
    let mut view = View::default();
    if tensor.is_contiguous() {
        return view;
    }
    view.broadcast = (0..shape.len()).filter(|&dim| strides[dim] == 0 && shape[dim] > 1).collect();
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(if view.broadcast.contains(&dim) { usize::MAX } else { strides[dim] }));
    if !order.is_sorted() {
        view.order = order;
    } else if view.broadcast.is_empty() {
        view.after = vec![1; shape.len()];
    }
    view
}

/// The rule that the call breaks, with the first element that breaks it if a single element does.
fn breaks(op: &Op, case: &Case, rule: &'static Rule) -> Refused {
    let breaks = |case: &Case| op.contract(case) == Contract::Rejects(rule);
    described(op, case, rule.wording, case.inputs.keys().find_map(|name| offender(case, name, breaks)))
}

/// A refused call, and why.
fn described(op: &Op, case: &Case, why: &str, offender: Option<String>) -> Refused {
    let described = |(name, tensor): (&String, &tensor::Tensor)| format!("{name} {} {:?}", tensor.dtype, tensor.shape);
    let inputs = case.inputs.iter().map(described).collect::<Vec<_>>().join(", ");
    Refused::whole(op.name, &format!("{why}: {}({inputs})", offender.unwrap_or_default()))
}

/// The first element of an input that breaks the contract: found by bisection, as contracts do not name it.
fn offender(case: &Case, name: &str, breaks: impl Fn(&Case) -> bool) -> Option<String> {
    let tensor = case.tensor(name)?;
    let Values::List(values) = &tensor.values else { return None };
    let breaks = |kept: usize| {
        let mut case = case.clone();
        let values = values[..kept].iter().copied().chain(values[kept..].iter().map(|_| Value::Int(0)));
        case.inputs
            .insert(name.to_string(), tensor::Tensor { values: Values::List(values.collect()), ..tensor.clone() });
        breaks(&case)
    };
    if breaks(0) || !breaks(values.len()) {
        return None;
    }
    let (mut fine, mut broken) = (0, values.len());
    while broken - fine > 1 {
        let middle = usize::midpoint(fine, broken);
        if breaks(middle) { broken = middle } else { fine = middle }
    }
    let index = index_of(fine, &tensor.stored_shape());
    Some(format!("{} at {index:?} of {name} ", values[fine]))
}
