// Functions of warps and blocks.
#include "kernel.cuh"

KERNEL(w_shfl) {
  p[0] = __shfl_sync(~0u, p[1], 3);
  f[1] = __shfl_up_sync(~0u, f[1], 1);
  d[1] = __shfl_down_sync(~0u, d[1], 2, 16);
  l[1] = __shfl_xor_sync(~0u, l[1], 4);
}

KERNEL(w_vote) {
  p[0] = __all_sync(~0u, p[1]);
  p[1] = __any_sync(~0u, p[2]);
  u[0] = __ballot_sync(~0u, p[3]);
  u[1] = __activemask();
  p[2] = __uni_sync(~0u, p[4]);
}

KERNEL(w_match) {
  u[0] = __match_any_sync(~0u, p[threadIdx.x]);
  int x;
  u[1] = __match_all_sync(~0u, p[0], &x);
  p[4] = x;
  u[2] = __match_any_sync(~0u, l[threadIdx.x]);
}

KERNEL(w_redux) {
  u[0] = __reduce_add_sync(~0u, u[1]);
  p[0] = __reduce_min_sync(~0u, p[1]);
  p[1] = __reduce_max_sync(~0u, p[1]);
  u[2] = __reduce_and_sync(~0u, u[1]);
  u[3] = __reduce_or_sync(~0u, u[1]);
  u[4] = __reduce_xor_sync(~0u, u[1]);
  u[5] = __reduce_max_sync(~0u, u[1]);
}

KERNEL(w_sync) {
  __syncwarp();
  __syncwarp(0xff);
}

KERNEL(b_count) {
  p[0] = __syncthreads_count(p[1]);
  p[1] = __syncthreads_and(p[2]);
  p[2] = __syncthreads_or(p[3]);
  __syncthreads();
}

KERNEL(b_named) {
  asm volatile("bar.sync 1, 32;");
  asm volatile("barrier.sync 2;");
  asm volatile("bar.arrive 3, 64;");
  asm volatile("bar.sync 3, 64;");
}

KERNEL(fences) {
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}

KERNEL(clock) {
  l[0] = clock64();
  p[0] = clock();
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  q[0] = t;
  __nanosleep(10);
}

KERNEL(regs) {
  unsigned t;
  asm volatile("mov.u32 %0,%smid;" : "=r"(t));
  u[0] = t;
  asm volatile("mov.u32 %0,%nsmid;" : "=r"(t));
  u[1] = t;
  asm volatile("mov.u32 %0,%nwarpid;" : "=r"(t));
  u[2] = t;
  asm volatile("mov.u32 %0,%dynamic_smem_size;" : "=r"(t));
  u[3] = t;
  asm volatile("mov.u32 %0,%total_smem_size;" : "=r"(t));
  u[4] = t;
  unsigned long long g;
  asm volatile("mov.u64 %0,%gridid;" : "=l"(g));
  q[4] = g;
}
