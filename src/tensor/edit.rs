//! Edits of a tensor that keep as many values as possible: new sizes, a slice, one dimension less, another dtype or view.

use super::{DType, Tensor, Value, Values, View, index_of, product, spread};

/// `tensor` with another shape of the same rank: elements in both shapes keep their value, new ones are 0.
pub fn resized(tensor: &Tensor, shape: Vec<usize>) -> Tensor {
    let old = tensor.stored_shape();
    let mut new = Tensor { shape, ..tensor.clone() };
    let (from, to) = (old, new.stored_shape());
    let (old_count, new_count) = (product(&from).unwrap_or(0), product(&to).unwrap_or(0));
    let kept = |position: usize| {
        // The position of an old element in the new shape, or `None` if it is cut off.
        index_of(position, &from).iter().zip(&to).try_fold(0, |flat, (&i, &n)| (i < n).then_some(flat * n + i))
    };
    new.values = match &tensor.values {
        Values::List(values) => {
            let zero = Value::of(tensor.dtype, 0.0);
            let mut list = vec![zero; new_count];
            for (position, &value) in values.iter().enumerate().take(old_count) {
                if let Some(place) = kept(position) {
                    list[place] = value;
                }
            }
            Values::List(list)
        }
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            let move_to = |(position, value)| kept(position).map(|place| (place, value));
            fill.except = fill.except.into_iter().filter_map(move_to).collect();
            Values::Fill(fill)
        }
    };
    new
}

/// `tensor` with only the `count` entries from `start` along `dim`.
pub fn sliced(tensor: &Tensor, dim: usize, start: usize, count: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = count;
    if tensor.view.broadcasts(dim) {
        return Tensor { shape, ..tensor.clone() };
    }
    let stored = tensor.stored_shape();
    let (inner, size) = (product(&stored[dim + 1..]).unwrap_or(1), stored[dim]);
    // The place of an old element in the new tensor, or `None` if it is cut off.
    let moved = |position: usize| {
        let along = position / inner % size;
        let outer = position / inner / size;
        (start..start + count).contains(&along).then(|| (outer * count + along - start) * inner + position % inner)
    };
    let values = match &tensor.values {
        Values::List(values) => {
            Values::List(values.iter().enumerate().filter(|(p, _)| moved(*p).is_some()).map(|(_, &v)| v).collect())
        }
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            fill.except = fill.except.into_iter().filter_map(|(p, v)| moved(p).map(|place| (place, v))).collect();
            Values::Fill(fill)
        }
    };
    Tensor { shape, values, ..tensor.clone() }
}

/// `tensor` without dimension `dim`; its first entry is kept.
pub fn without_dim(tensor: &Tensor, dim: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    if shape[dim] > 1 {
        shape[dim] = 1;
    }
    let mut lowered = resized(tensor, shape);
    if tensor.shape[dim] == 0 {
        // An empty dimension has no values to keep: the result is zeros.
        lowered = resized(tensor, tensor.shape.iter().map(|&n| n.max(1)).collect());
    }
    lowered.shape.remove(dim);
    lowered.view = lowered.view.without(dim);
    lowered
}

/// `tensor` with its values rounded to `dtype`.
pub fn cast(tensor: &Tensor, dtype: DType) -> Tensor {
    let convert = |value: Value| match value {
        Value::Int(int) if !dtype.is_float() => {
            let (low, high) = dtype.int_range().unwrap_or((0, 0));
            Value::Int(int.clamp(low, high))
        }
        Value::Float(float) if float.is_nan() && dtype.is_float() => value,
        other => Value::of(dtype, other.as_f64()),
    };
    let values = match &tensor.values {
        Values::List(values) => Values::List(values.iter().map(|&value| convert(value)).collect()),
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            fill.constant = convert(fill.constant);
            fill.except.iter_mut().for_each(|(_, value)| *value = convert(*value));
            Values::Fill(fill)
        }
    };
    Tensor { dtype, values, ..tensor.clone() }
}

/// `tensor` with another view of the same shape; as it is, if it is vast and the view would write more of it out.
pub fn viewed(tensor: &Tensor, view: View) -> Tensor {
    let target = Tensor { view, ..tensor.clone() };
    if target.view.broadcast == tensor.view.broadcast {
        return target;
    }
    if tensor.is_vast() && target.stored().is_none_or(|count| Some(count) > tensor.stored()) {
        return tensor.clone();
    }
    // The stored elements change with the broadcast dimensions: keep the first entry of each, or repeat it.
    let stored = tensor.stored_shape();
    let values = tensor.values.to_vec(product(&stored).unwrap_or(0));
    Tensor { values: Values::List(spread(&values, &stored, &target.stored_shape())), ..target }
}
