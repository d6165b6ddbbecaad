//! Convolutions of candle alone. With the feature `cudnn` they are cuDNN's.

use candle_core::{DType, Device, Result, Shape, Tensor};

use crate::weights;

/// A padding, a stride, a dilation and groups.
const SETTINGS: [[usize; 4]; 6] =
    [[0, 1, 1, 1], [2, 1, 1, 1], [1, 2, 1, 1], [2, 1, 2, 1], [1, 3, 2, 1], [1, 1, 1, 2]];
const TYPES: [DType; 2] = [DType::F32, DType::F64];

/// Convolutions along a line, of a packed tensor and of views.
pub fn lines(device: &Device) -> Result<Vec<Tensor>> {
    let mut results = Vec::new();
    for dtype in TYPES {
        let packed = signal((2, 4, 17), dtype, device)?;
        let turned = signal((2, 17, 4), dtype, device)?.transpose(1, 2)?;
        let part = signal((2, 7, 20), dtype, device)?.narrow(1, 2, 4)?.narrow(2, 3, 17)?;
        let same = signal((1, 4, 17), dtype, device)?.broadcast_as((2, 4, 17))?;
        for x in [packed, turned, part, same] {
            for [padding, stride, dilation, groups] in SETTINGS {
                let filter = signal((6, 4 / groups, 3), dtype, device)?;
                results.push(x.conv1d(&filter, padding, stride, dilation, groups)?);
            }
        }
    }
    Ok(results)
}

/// Convolutions in a plane, of a packed tensor and of views.
pub fn planes(device: &Device) -> Result<Vec<Tensor>> {
    let mut results = Vec::new();
    for dtype in TYPES {
        let packed = signal((2, 4, 9, 11), dtype, device)?;
        let last = signal((2, 9, 11, 4), dtype, device)?.permute((0, 3, 1, 2))?;
        let part = signal((2, 4, 12, 14), dtype, device)?.narrow(2, 1, 9)?.narrow(3, 2, 11)?;
        let same = signal((1, 4, 9, 11), dtype, device)?.broadcast_as((2, 4, 9, 11))?;
        for x in [packed, last, part, same] {
            for [padding, stride, dilation, groups] in SETTINGS {
                let filter = signal((6, 4 / groups, 3, 3), dtype, device)?;
                results.push(x.conv2d(&filter, padding, stride, dilation, groups)?);
            }
        }
    }
    Ok(results)
}

fn signal(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Tensor> {
    weights::signal(shape, device)?.to_dtype(dtype)
}
