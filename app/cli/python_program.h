// What `msdbg dump` does for programs in Python: the folder that makes a Python process record itself, the
// variables that its recorder reads, and why one of them recorded nothing. Main thread only.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command.h"

namespace msdbg::app {

/// Options for PyTorch programs, as given; "" where they are not.
struct PythonOptions {
  std::string level, compile;

  void addOptions(CLI::App& app);
  bool any() const { return !level.empty() || !compile.empty(); }
  /// kUsage names the flag. Without --level the variable MSDBG_LEVEL is checked.
  core::Status check() const;
  /// PYTHONPATH, and MSDBG_LEVEL and MSDBG_COMPILE where they are given. Every program gets them: a shell
  /// script may start Python.
  std::vector<std::pair<std::string, std::string>> environment() const;
};

inline constexpr std::string_view kLevels = "train, modules or ops";
bool isLevel(std::string_view name);

/// Whether the words start Python, as far as their looks tell: an interpreter, one of the usual launchers, a
/// script in Python.
bool startsPython(const std::vector<std::string>& program);
/// What to call its run: "train" of `torchrun --nproc-per-node 2 src/train.py`.
std::string pythonRunName(const std::vector<std::string>& program);

/// Why no Python process of a run recorded anything and what to do, from what they noted there; "" where none
/// was started as far as can be told: it was a program of another kind.
std::string whyPythonRecordedNothing(const std::filesystem::path& run,
                                     const std::vector<std::string>& program);
/// What they noted is for the launcher only and no part of the recording.
void removePythonNotes(const std::filesystem::path& run);

}  // namespace msdbg::app
