//! Inputs of a case that lie in one buffer.

use std::collections::BTreeSet;

use super::Case;
use crate::tensor::{DType, MAX_ELEMENTS, Tensor, Value, Values, View};

/// A buffer that several inputs share. Each input is a view of a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// All of the buffer, in one dimension. What is outside all views holds [`View::POISON`].
    pub whole: Tensor,
    /// Each input's name, the start of its part, and the part's length.
    pub parts: Vec<(String, usize, usize)>,
    /// The positions of the elements that are inside a view.
    pub inside: Vec<usize>,
}

/// A buffer under construction: the elements that a view has.
struct Cells {
    dtype: DType,
    values: Vec<Option<Value>>,
}

impl Cells {
    /// The place of each stored element of `tensor` among the cells, which become enough of them.
    fn places(&mut self, tensor: &Tensor) -> Vec<usize> {
        let offset = tensor.view.offset;
        self.values.resize(self.values.len().max(offset + length(tensor)), None);
        tensor.buffer_positions().into_iter().map(|position| offset + position).collect()
    }

    /// Adds the elements of `tensor`. False if a cell has another value already.
    fn add(&mut self, tensor: &Tensor) -> bool {
        let values = tensor.values.to_vec(tensor.stored().unwrap_or(0));
        self.places(tensor)
            .into_iter()
            .zip(values)
            .all(|(place, value)| *self.values[place].get_or_insert(value) == value)
    }

    /// `tensor` with the values of the cells that are taken already.
    fn read(&mut self, tensor: &Tensor) -> Tensor {
        let own = tensor.values.to_vec(tensor.stored().unwrap_or(0));
        let there = self.places(tensor).into_iter().map(|place| self.values[place]);
        let values: Vec<Value> = there.zip(&own).map(|(there, &own)| there.unwrap_or(own)).collect();
        // A fill that is right stays one.
        if values == own { tensor.clone() } else { Tensor { values: Values::List(values), ..tensor.clone() } }
    }

    fn whole(self) -> (Tensor, Vec<usize>) {
        let inside = (0..self.values.len()).filter(|&place| self.values[place].is_some()).collect();
        let outside = Value::of(self.dtype, View::POISON);
        let values: Vec<Value> = self.values.into_iter().map(|value| value.unwrap_or(outside)).collect();
        (Tensor::new(self.dtype, vec![values.len()], values), inside)
    }
}

/// The length of the buffer of `tensor`.
fn length(tensor: &Tensor) -> usize {
    tensor.view.buffer_shape(&tensor.stored_shape()).iter().product()
}

impl Case {
    /// Whether the input `name` lies in one buffer with another.
    pub fn is_shared(&self, name: &str) -> bool {
        let lies = |tensor: &Tensor| tensor.view.of.is_some();
        self.tensor(name).is_some_and(lies)
            || self.inputs.values().any(|tensor| tensor.view.of.as_deref() == Some(name))
    }

    /// Whether the inputs `one` and `other` lie in one buffer.
    pub fn share(&self, one: &str, other: &str) -> bool {
        let owner = |name| self.tensor(name).map(|tensor| tensor.view.of.as_deref().unwrap_or(name));
        owner(one).is_some() && owner(one) == owner(other)
    }

    /// Every buffer in which several inputs lie. The case has been checked.
    pub fn shared(&self) -> Vec<Shared> {
        let mut all = Vec::new();
        for (name, owner) in
            self.inputs.iter().filter(|(name, tensor)| tensor.view.of.is_none() && self.is_shared(name))
        {
            let mut cells = Cells { dtype: owner.dtype, values: Vec::new() };
            let mut parts = Vec::new();
            for (name, tensor) in std::iter::once((name, owner)).chain(self.guests(name)) {
                cells.add(tensor);
                parts.push((name.clone(), tensor.view.offset, length(tensor)));
            }
            let (whole, inside) = cells.whole();
            all.push(Shared { whole, parts, inside });
        }
        all
    }

    /// Gives each input that lies in another's buffer the values that are there, or a buffer of its own where it cannot lie there.
    pub fn repair_shared(&mut self) {
        if self.inputs.values().all(|tensor| tensor.view.of.is_none()) || self.check_tensors().is_err() {
            return;
        }
        for name in self.inputs.keys().cloned().collect::<Vec<_>>() {
            if let Err((name, _)) = self.check_guest(&name) {
                let name = name.to_string();
                self.inputs.entry(name).and_modify(|tensor| (tensor.view.of, tensor.view.offset) = (None, 0));
            }
        }
        for (name, owner) in self.inputs.clone() {
            let mut cells = Cells { dtype: owner.dtype, values: Vec::new() };
            cells.add(&owner);
            let guests: Vec<(String, Tensor)> =
                self.guests(&name).map(|(name, it)| (name.clone(), it.clone())).collect();
            for (guest, tensor) in guests {
                let tensor = cells.read(&tensor);
                cells.add(&tensor);
                self.inputs.insert(guest, tensor);
            }
        }
    }

    /// The inputs that lie in the buffer of the input `owner`.
    fn guests(&self, owner: &str) -> impl Iterator<Item = (&String, &Tensor)> {
        self.inputs.iter().filter(move |(_, tensor)| tensor.view.of.as_deref() == Some(owner))
    }

    fn check_tensors(&self) -> Result<(), String> {
        self.inputs.values().try_for_each(Tensor::check)
    }

    /// Checks that inputs can lie where they do, in valid tensors. The error names an input, and says what is wrong with it.
    pub(super) fn check_shared(&self) -> Result<(), (&str, String)> {
        self.inputs.keys().try_for_each(|name| self.check_guest(name))?;
        let owners: BTreeSet<&str> = self.inputs.values().filter_map(|guest| guest.view.of.as_deref()).collect();
        for (owner, tensor) in self.inputs.iter().filter(|(name, _)| owners.contains(name.as_str())) {
            let mut cells = Cells { dtype: tensor.dtype, values: Vec::new() };
            cells.add(tensor);
            if let Some((name, _)) = self.guests(owner).find(|(_, guest)| !cells.add(guest)) {
                return Err((name, format!("differs from the same element of the buffer of `{owner}`")));
            }
        }
        Ok(())
    }

    /// Checks that the input `name` can lie in the buffer that it names, whatever the values.
    fn check_guest<'a>(&'a self, name: &'a str) -> Result<(), (&'a str, String)> {
        let Some((guest, of)) = self.tensor(name).and_then(|guest| Some((guest, guest.view.of.as_deref()?))) else {
            return Ok(());
        };
        let step = |name: &str| name.split_once('.').map(|(step, _)| step.to_string());
        let problem = match self.tensor(of) {
            None => format!("lies in the buffer of `{of}`, which the case does not have"),
            Some(_) if of == name => "lies in its own buffer; leave out `of`".to_string(),
            Some(_) if step(of) != step(name) => format!("lies in the buffer of `{of}`, an input of another step"),
            Some(owner) if owner.view.of.is_some() => {
                format!("lies in the buffer of `{of}`, which has none of its own")
            }
            Some(owner) if owner.dtype != guest.dtype => {
                format!("lies in the buffer of `{of}`, which has a different dtype")
            }
            Some(_) if guest.view.offset.checked_add(length(guest)).is_none_or(|end| end > MAX_ELEMENTS) => {
                format!("ends past the first {MAX_ELEMENTS} elements of the buffer of `{of}`")
            }
            Some(_) => return Ok(()),
        };
        Err((name, problem))
    }
}
