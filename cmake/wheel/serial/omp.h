// OpenMP of one thread: what the recorder in a wheel is compiled with. A wheel may bring no libgomp
// (manylinux), and a second one beside torch's would have threads of its own.
#pragma once

inline int omp_get_thread_num() { return 0; }
inline int omp_get_num_threads() { return 1; }
inline int omp_get_max_threads() { return 1; }
inline int omp_get_num_procs() { return 1; }
inline int omp_in_parallel() { return 0; }
inline void omp_set_num_threads(int) {}
