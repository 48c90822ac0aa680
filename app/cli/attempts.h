// The attempts of a run: a Python program that is started again (torchrun --max-restarts, a loop around it)
// is recorded into a folder beside the first, by its own processes. The names and ids are those of
// dump/python/msdbg/_attempts.py. Reads files only; thread-safe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace msdbg::app {

struct AttemptPlace {
  std::filesystem::path run;
  std::string id;
  int number = 1;
};

/// "night.msdbg", 2: "night-attempt2.msdbg"
std::filesystem::path attemptFolder(const std::filesystem::path& first, int number);
/// Of the run whose first attempt has this id (32 hexadecimal digits).
std::string attemptId(const std::string& first, int number);

/// The attempt after number `after` whose run is there. Folders of other runs may lie between.
std::optional<AttemptPlace> nextAttempt(const std::filesystem::path& first, const std::string& id, int after);

}  // namespace msdbg::app
