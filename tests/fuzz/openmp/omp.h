// For the preset `fuzz`: GCC's own omp.h is not clang's, and LLVM's comes with another runtime than oneDNN's.
// What msdbg uses of libgomp.
#pragma once

extern "C" {
int omp_get_max_threads(void) noexcept;
int omp_get_thread_num(void) noexcept;
void omp_set_num_threads(int) noexcept;
}
