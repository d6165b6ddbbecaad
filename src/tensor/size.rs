//! How many elements a shape has. The sizes come from files, so their product may have no number.

/// A shape that no tensor can have: candle, like `ndarray`, multiplies its sizes also where one of them is 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sizes of shape {0:?} are too large: without zeros, their product must be below 2^63")]
pub struct TooLarge(Vec<usize>);

/// The number of elements of a tensor of this shape.
pub fn elements(shape: &[usize]) -> Result<usize, TooLarge> {
    let positive = shape.iter().filter(|&&size| size > 0);
    let product = positive.copied().try_fold(1_usize, usize::checked_mul);
    match product.filter(|&product| isize::try_from(product).is_ok()) {
        Some(_) if shape.contains(&0) => Ok(0),
        Some(product) => Ok(product),
        None => Err(TooLarge(shape.to_vec())),
    }
}

/// The product of `sizes`, or `None` where it overflows. Of a tensor's shape, ask for its [`elements`].
pub fn product(sizes: &[usize]) -> Option<usize> {
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.iter().try_fold(1_usize, |product, &n| product.checked_mul(n))
}
