//! Tensors in device memory: every element is read or written by its own address, and reports say whose it is.

use crate::objects::libraries::element::{Element, Real};
use device_record::{Detail, Fault, How, Space};
use simulator::Device;

/// A tensor in device memory.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// The name in cuDNN's documentation: `x`, `w`, `y`, …
    pub name: &'static str,
    pub address: u64,
    pub element: Element,
    pub dims: Vec<usize>,
    /// Elements from one index of a dimension to the next.
    pub strides: Vec<i64>,
    /// The indices in dimensions before these, if it is a part of a tensor.
    pub place: Vec<usize>,
}

impl Tensor {
    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// What has this index in the first dimension.
    pub fn part(&self, index: usize) -> Self {
        Self {
            address: self.after(self.address, index, self.strides[0]),
            dims: self.dims[1..].to_vec(),
            strides: self.strides[1..].to_vec(),
            place: self.place.iter().copied().chain([index]).collect(),
            ..*self
        }
    }

    fn after(&self, address: u64, index: usize, stride: i64) -> u64 {
        address.wrapping_add((index as i64).wrapping_mul(stride).wrapping_mul(self.element.size() as i64) as u64)
    }

    /// How many of the last dimensions lie without gaps, in order.
    fn packed(&self) -> usize {
        let mut next = 1;
        let dims = self.dims.iter().zip(&self.strides).rev();
        dims.take_while(|&(&dim, &stride)| {
            let follows = dim == 1 || stride == next;
            next *= dim as i64;
            follows
        })
        .count()
    }

    /// Where each run of adjacent elements begins, and how many elements each has.
    fn runs(&self) -> (Vec<u64>, usize) {
        let outer = self.dims.len() - self.packed();
        let mut starts = vec![self.address];
        for (&dim, &stride) in self.dims[..outer].iter().zip(&self.strides) {
            starts = starts.iter().flat_map(|&at| (0..dim).map(move |i| self.after(at, i, stride))).collect();
        }
        (starts, self.dims[outer..].iter().product())
    }

    /// All elements, the last index fastest. Elements outside of a view are reported.
    pub fn read<T: Real>(&self, device: &mut Device) -> Result<Vec<T>, Fault> {
        let (starts, length) = self.runs();
        let size = self.element.size();
        starts.iter().try_for_each(|&start| device.affords(start, self.count()))?;
        let mut values = Vec::with_capacity(self.count());
        for (run, &start) in starts.iter().enumerate() {
            device.check_view(start, length as u64 * size);
            let bytes = device.bytes(start, length as u64 * size);
            let bytes =
                bytes.map_err(|fault| self.first_wrong(device, run * length, start, length).unwrap_or(fault))?;
            T::read(self.element, bytes, &mut values);
        }
        Ok(values)
    }

    /// Which elements were never written, if there are any.
    pub fn undefined(&self, device: &Device) -> Option<Vec<bool>> {
        let (starts, length) = self.runs();
        let size = self.element.size();
        if !starts.iter().any(|&start| device.is_undefined(start, length as u64 * size)) {
            return None;
        }
        let addresses = starts.iter().flat_map(|&start| (0..length as u64).map(move |i| start + i * size));
        Some(addresses.map(|address| device.is_undefined(address, size)).collect())
    }

    /// Stores `alpha * values + beta * old`. If `beta` is zero, the old elements are not read: they may hold anything, NaN included.
    pub fn store<T: Real>(
        &self,
        device: &mut Device,
        mut values: Vec<T>,
        mut undefined: Option<Vec<bool>>,
        [alpha, beta]: [T; 2],
    ) -> Result<(), Fault> {
        for x in &mut values {
            *x = alpha * *x;
        }
        if beta != T::default() {
            let before = self.undefined(device);
            let old = self.read::<T>(device)?;
            values.iter_mut().zip(old).for_each(|(x, old)| *x = *x + beta * old);
            undefined = either(undefined, before);
        }
        self.write(device, &values, undefined.as_deref())
    }

    fn write<T: Real>(&self, device: &mut Device, values: &[T], undefined: Option<&[bool]>) -> Result<(), Fault> {
        let (starts, length) = self.runs();
        let size = self.element.size();
        for (run, (&start, values)) in starts.iter().zip(values.chunks_exact(length)).enumerate() {
            if let Err(fault) = device.bytes(start, length as u64 * size) {
                let detail = Detail::Access { how: How::Write, space: Space::Global, bytes: size };
                let wrong = self.first_wrong(device, run * length, start, length);
                return Err(wrong.map_or(fault, |wrong| Fault { detail, ..wrong }));
            }
            T::write(self.element, values, device.bytes_mut(start, length as u64 * size)?);
            let Some(undefined) = undefined else { continue };
            for at in (0..length).filter(|at| undefined[run * length + at]) {
                device.make_undefined(start + at as u64 * size, size);
            }
        }
        Ok(())
    }

    /// The fault of the first element of a run that is out of bounds; the run begins with element `first`.
    fn first_wrong(&self, device: &Device, first: usize, start: u64, length: usize) -> Option<Fault> {
        let size = self.element.size();
        let address = |at: usize| start.wrapping_add(at as u64 * size);
        let (at, mut fault) = (0..length).find_map(|at| Some((at, device.bytes(address(at), size).err()?)))?;
        fault.notes.insert(0, format!("the element is that of {} at {:?}", self.name, self.index(first + at)).into());
        Some(fault)
    }

    /// The index of an element, by its place in the order of indices.
    fn index(&self, mut at: usize) -> Vec<usize> {
        let mut index = self.place.clone();
        for dim in (0..self.dims.len()).map(|dim| self.dims[dim + 1..].iter().product::<usize>()) {
            index.push(at / dim);
            at %= dim;
        }
        index
    }
}

/// Which of both were never written.
pub fn either(one: Option<Vec<bool>>, other: Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.iter().zip(other).map(|(&one, other)| one | other).collect()),
        (one, other) => one.or(other),
    }
}

/// Bytes that are written and have no elements, such as a workspace.
pub fn buffer<'a>(device: &'a mut Device, name: &str, address: u64, bytes: u64) -> Result<&'a mut [u8], Fault> {
    device.bytes_mut(address, bytes).map_err(|mut fault| {
        fault.notes.insert(0, format!("the bytes are those of {name}").into());
        fault
    })
}
