// How ranks are started under Open MPI 4.1. Each option answers something measured on small machines and in
// containers.
#include "core_engine/base/mpirun.h"

namespace msdbg::core {

std::vector<std::string> mpirunCommand(int ranks, const std::vector<std::string>& program) {
  std::vector<std::string> command = {"mpirun", "-n", std::to_string(ranks)};
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add({"--quiet"});            // msdbg says itself how a rank ended; the exit status is the rank's
  add({"--oversubscribe"});    // more ranks than cores
  add({"--bind-to", "none"});  // else all threads of a rank share one core
  add({"--mca", "mpi_yield_when_idle", "1"});  // a waiting rank leaves its core to the others
  // After a death the survivors get SIGCONT at once, SIGTERM after this many seconds and SIGKILL after as
  // many more: time to commit recordings. Open MPI always waits it out, also when nobody is left.
  add({"--mca", "odls_base_sigkill_timeout", "3"});
  add({"--mca", "plm", "isolated"});  // this host only: neither ssh nor a batch system is looked for
  add({"--mca", "pml", "ob1"});       // shared memory; no search for fabrics
  add({"--mca", "btl", "self,vader"});
  add({"--mca", "btl_vader_single_copy_mechanism", "none"});  // containers forbid CMA (ptrace)
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

std::vector<std::pair<std::string, std::string>> mpirunEnvironment() {
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};  // only root's are read
}

}  // namespace msdbg::core
