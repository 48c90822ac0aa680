// MSDBG_INLINE before a function that is compiled into its callers, whatever they are compiled for: an
// instruction set of the CPU, or a GPU.
#pragma once

#if defined(__CUDACC__)
#define MSDBG_INLINE __host__ __device__ __forceinline__
#else
#define MSDBG_INLINE inline __attribute__((always_inline))
#endif
