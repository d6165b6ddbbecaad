//! A kernel of one's own as a `CustomOp1`. It reads one element past its input on purpose, and drops what it read there.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

/// The difference of each element of a vector from the next one; the last element stays as it is.
pub fn differences(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1_no_bwd(&Differences)
}

struct Differences;

impl CustomOp1 for Differences {
    fn name(&self) -> &'static str {
        "differences"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets()) else {
            bail!("differences takes contiguous f32");
        };
        let x = &values[start..end];
        let next = x.iter().skip(1).chain([&0.0]);
        Ok((CpuStorage::F32(x.iter().zip(next).map(|(x, next)| x - next).collect()), layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        storage: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        use candle_core::CudaStorage;
        use candle_core::backend::BackendStorage;
        use candle_core::cuda_backend::WrapErr;
        use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};

        let Some((start, end)) = layout.contiguous_offsets() else { bail!("differences takes contiguous f32") };
        let (device, x) = (storage.device(), storage.as_cuda_slice::<f32>()?.slice(start..end));
        let count = (end - start) as u32;
        let y = device.alloc_zeros::<f32>(count as usize)?;
        if count > 0 {
            let kernel = device.get_or_load_custom_func("differences", "differences", PTX)?;
            let mut launch = kernel.builder();
            launch.arg(&x).arg(&y).arg(&count);
            // SAFETY: the kernel takes two buffers and their length.
            unsafe { launch.launch(LaunchConfig::for_num_elems(count)) }.w()?;
        }
        Ok((CudaStorage::wrap_cuda_slice(y, device.clone()), layout.shape().clone()))
    }
}

#[cfg(feature = "cuda")]
const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64

.visible .entry differences(.param .u64 x, .param .u64 y, .param .u32 count) {
    .reg .pred %p<3>;
    .reg .b32 %r<7>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<6>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [count];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra done;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd4+4];
    add.u32 %r6, %r4, 1;
    setp.eq.u32 %p2, %r6, %r5;
    selp.f32 %f3, 0f00000000, %f2, %p2;
    sub.f32 %f4, %f1, %f3;
    add.s64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f4;
done:
    ret;
}
";
