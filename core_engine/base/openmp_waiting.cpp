#include "core_engine/base/openmp_waiting.h"

#include <unistd.h>

#include <cstdlib>

namespace msdbg::core {

void restartWithPatientThreads(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) != 0) return;
  execv("/proc/self/exe", argv);
  // Without /proc the program runs as it is: slower beside others, with the same results.
}

}  // namespace msdbg::core
