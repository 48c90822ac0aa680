// Runs a program as a test's user would: arguments, environment, a timeout; gives what it printed and how it
// ended. Any thread may call; each call owns its child and everything that the child started: one session,
// killed at the timeout and when the child has ended.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace msdbg::test {

struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to this process's own
  std::filesystem::path folder = {};                                  // working folder; empty: this process's
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  std::string input = {};  // the child's stdin; then end of file
};

struct RunResult {
  int exitStatus =
      -1;  // as a shell gives it: 128 + signal where one ended the program; 127 where it cannot start
  bool timedOut = false;
  std::string out;  // stdout
  std::string err;  // stderr
};

// The command's first word is looked up in PATH unless it has a slash. Throws std::system_error where no
// process can be made.
RunResult runCommand(const std::vector<std::string>& command, const RunOptions& options = {});

// build/<preset>/bin/msdbg of the build that this test belongs to, with the arguments.
RunResult runMsdbg(const std::vector<std::string>& arguments, const RunOptions& options = {});

std::filesystem::path sourceDir();  // the repository's root
std::filesystem::path buildDir();   // build/<preset>: bin, tests, lib/msdbg/hdf5_plugin

}  // namespace msdbg::test
