// The command line that starts ranks under Open MPI. It is only words: who starts a program need not be able
// to train. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace msdbg::core {

/// Command line that starts `ranks` copies of `program` under Open MPI, root and containers included, on any
/// core count.
std::vector<std::string> mpirunCommand(int ranks, const std::vector<std::string>& program);
/// Environment variables that command needs (name, value).
std::vector<std::pair<std::string, std::string>> mpirunEnvironment();

}  // namespace msdbg::core
