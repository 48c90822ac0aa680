#include "dump/session/patient_start.h"

#include <unistd.h>

#include <cstring>
#include <vector>

namespace msdbg::dump {
namespace {

bool isSet(const char* variable, const char* name) {
  const std::size_t length = std::strlen(name);
  return std::strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/// By the environment that it is given: libc's own is not there yet.
void start(int, char** argv, char** environment) {
  static char patience[] = "GOMP_SPINCOUNT=1000";
  std::vector<char*> variables;
  for (char** each = environment; *each; ++each) {
    if (isSet(*each, "GOMP_SPINCOUNT") || isSet(*each, "OMP_WAIT_POLICY")) return;
    variables.push_back(*each);
  }
  variables.insert(variables.end(), {patience, nullptr});
  execve("/proc/self/exe", argv, variables.data());
  // Without /proc the program runs as it is: slower beside others, with the same results.
}

/// Run before the constructors of any library and of the program: nothing of it happens twice.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeAll)(int, char**, char**) = start;

}  // namespace

bool startsWithPatientThreads() { return true; }

}  // namespace msdbg::dump
