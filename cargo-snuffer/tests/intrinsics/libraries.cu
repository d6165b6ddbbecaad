// The libraries of the toolkit.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>

#include <cuda/atomic>

#include "kernel.cuh"

KERNEL(cpasync) {
  __shared__ float s[64];
  __pipeline_memcpy_async(s + threadIdx.x * 4 % 64, f, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  f[3] = s[1];
}

KERNEL(cpasync4) {
  __shared__ float s[64];
  __pipeline_memcpy_async(s + threadIdx.x % 64, f, 4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  f[3] = s[1];
  unsigned a = __cvta_generic_to_shared(s);
  asm volatile("cp.async.ca.shared.global [%0],[%1],8,4;" ::"r"(a), "l"(f));
  asm volatile("cp.async.wait_all;");
  asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;" ::"r"(a), "l"(f));
}

KERNEL(mbarrier) {
  __shared__ unsigned long long b;
  unsigned a = __cvta_generic_to_shared(&b);
  asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(a));
  unsigned long long t;
  asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(t) : "r"(a));
  q[0] = t;
}

KERNEL(cg) {
  namespace c = cooperative_groups;
  auto b = c::this_thread_block();
  auto t = c::tiled_partition<8>(b);
  f[0] = c::reduce(t, f[1], c::plus<float>());
  p[0] = t.shfl_down(p[1], 1);
  p[1] = t.any(p[2]);
  auto co = c::coalesced_threads();
  p[2] = co.size();
  b.sync();
}

KERNEL(cggrid) {
  namespace c = cooperative_groups;
  auto g = c::this_grid();
  p[0] = g.thread_rank();
  p[1] = g.is_valid();
}

KERNEL(atomref) {
  cuda::atomic_ref<int, cuda::thread_scope_device> r(p[0]);
  r.fetch_add(1, cuda::memory_order_relaxed);
  p[1] = r.load(cuda::memory_order_acquire);
  r.store(3, cuda::memory_order_release);
  p[2] = r.exchange(4);
  int e = 1;
  p[3] = r.compare_exchange_strong(e, 2);
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> b(u[4]);
  b.fetch_max(3u);
}
