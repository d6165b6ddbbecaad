//! Ops of a caller: products, as new tensors and in place, by functions that every backend of candle has.

use candle_core::backend::BackendStorage;
use candle_core::op::{Add, Mul};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, DType, Error, InplaceOp1, InplaceOp2, InplaceOp3, Layout,
    Result, Shape, Tensor,
};

/// `x x` of one tensor, `x y` of two, `x y + z` of three, all of one shape: of floats that both backends compute in. Refuses
/// what its kernels do not take.
#[derive(Debug, Clone, Copy)]
pub struct Product;

fn name() -> &'static str {
    "product"
}

fn of_two<S: BackendStorage>((x, of_x): (&S, &Layout), (y, of_y): (&S, &Layout)) -> Result<(S, Shape)> {
    if of_x.shape() != of_y.shape() {
        return Err(Error::Msg("the product of two shapes".to_string()));
    }
    let is_listed = matches!(x.dtype(), DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    if !is_listed || of_x.shape().elem_count() == 0 {
        return Err(Error::Msg("the product of nothing, or of another dtype".to_string()));
    }
    Ok((x.binary_impl::<Mul>(y, of_x, of_y)?, of_x.shape().clone()))
}

fn of_three<S: BackendStorage>(x: (&S, &Layout), y: (&S, &Layout), (z, of_z): (&S, &Layout)) -> Result<(S, Shape)> {
    let (product, shape) = of_two(x, y)?;
    if of_z.shape() != &shape {
        return Err(Error::Msg("the sum of two shapes".to_string()));
    }
    Ok((product.binary_impl::<Add>(z, &Layout::contiguous(&shape), of_z)?, shape))
}

/// Writes the elements of `from`, in order, to the places that `layout` names.
fn write<S: BackendStorage>(from: &S, to: &mut S, layout: &Layout) -> Result<()> {
    let (count, start) = (layout.shape().elem_count(), layout.start_offset());
    let (Some(&size), Some(&stride), false) = (layout.dims().last(), layout.stride().last(), layout.is_contiguous())
    else {
        return from.copy2d(to, 1, count, count, count, 0, start);
    };
    for row in 0..count / size.max(1) {
        let (mut rest, mut place) = (row, start);
        for (&size, &stride) in layout.dims().iter().zip(layout.stride()).rev().skip(1) {
            place += rest % size * stride;
            rest /= size;
        }
        from.copy2d(to, size, 1, 1, stride, row * size, place)?;
    }
    Ok(())
}

impl CustomOp1 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(&self, x: &CpuStorage, of_x: &Layout) -> Result<(CpuStorage, Shape)> {
        of_two((x, of_x), (x, of_x))
    }

    fn cuda_fwd(&self, x: &CudaStorage, of_x: &Layout) -> Result<(CudaStorage, Shape)> {
        of_two((x, of_x), (x, of_x))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(((grad * x)? * 2.0)?))
    }
}

impl CustomOp2 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(&self, x: &CpuStorage, of_x: &Layout, y: &CpuStorage, of_y: &Layout) -> Result<(CpuStorage, Shape)> {
        of_two((x, of_x), (y, of_y))
    }

    fn cuda_fwd(&self, x: &CudaStorage, of_x: &Layout, y: &CudaStorage, of_y: &Layout) -> Result<(CudaStorage, Shape)> {
        of_two((x, of_x), (y, of_y))
    }

    fn bwd(&self, x: &Tensor, y: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some((grad * y)?), Some((grad * x)?)))
    }
}

/// The gradients of three arguments.
type Gradients = (Option<Tensor>, Option<Tensor>, Option<Tensor>);

impl CustomOp3 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        of_x: &Layout,
        y: &CpuStorage,
        of_y: &Layout,
        z: &CpuStorage,
        of_z: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        of_three((x, of_x), (y, of_y), (z, of_z))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        of_x: &Layout,
        y: &CudaStorage,
        of_y: &Layout,
        z: &CudaStorage,
        of_z: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        of_three((x, of_x), (y, of_y), (z, of_z))
    }

    /// No gradient of `z`: a caller's op may leave out what it does not differentiate by.
    fn bwd(&self, x: &Tensor, y: &Tensor, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Gradients> {
        Ok((Some((grad * y)?), Some((grad * x)?), None))
    }
}

impl InplaceOp1 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(&self, x: &mut CpuStorage, of_x: &Layout) -> Result<()> {
        write(&of_two((x, of_x), (x, of_x))?.0, x, of_x)
    }

    fn cuda_fwd(&self, x: &mut CudaStorage, of_x: &Layout) -> Result<()> {
        write(&of_two((x, of_x), (x, of_x))?.0, x, of_x)
    }
}

impl InplaceOp2 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(&self, x: &mut CpuStorage, of_x: &Layout, y: &CpuStorage, of_y: &Layout) -> Result<()> {
        write(&of_two((x, of_x), (y, of_y))?.0, x, of_x)
    }

    fn cuda_fwd(&self, x: &mut CudaStorage, of_x: &Layout, y: &CudaStorage, of_y: &Layout) -> Result<()> {
        write(&of_two((x, of_x), (y, of_y))?.0, x, of_x)
    }
}

impl InplaceOp3 for Product {
    fn name(&self) -> &'static str {
        name()
    }

    fn cpu_fwd(
        &self,
        x: &mut CpuStorage,
        of_x: &Layout,
        y: &CpuStorage,
        of_y: &Layout,
        z: &CpuStorage,
        of_z: &Layout,
    ) -> Result<()> {
        write(&of_three((x, of_x), (y, of_y), (z, of_z))?.0, x, of_x)
    }

    fn cuda_fwd(
        &self,
        x: &mut CudaStorage,
        of_x: &Layout,
        y: &CudaStorage,
        of_y: &Layout,
        z: &CudaStorage,
        of_z: &Layout,
    ) -> Result<()> {
        write(&of_three((x, of_x), (y, of_y), (z, of_z))?.0, x, of_x)
    }
}
