#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz_targets.h"

namespace msdbg::fuzz {

void require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace msdbg::fuzz
