// MSDBG_SIMD_CLONES before a function: GCC compiles it for plain x86-64, AVX2 and AVX-512 and the loader
// picks one. The clones give equal bits: the code has a fixed number of lanes and -ffp-contract=off forbids
// fused multiply-adds. Empty under sanitizers (their runtime is not ready when ifuncs are resolved) and with
// other compilers.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(MSDBG_SANITIZE)
#define MSDBG_SIMD_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define MSDBG_SIMD_CLONES
#endif
