// How a run begins: its folder, and what run.json says before anything is recorded. Used by `msdbg dump` and
// by a Session that was started without it. Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/descriptor.h"
#include "dump/run_info.h"

namespace msdbg::dump {

/// A RunInfo with state "running", a new id and everything that this machine and process know: version, host,
/// folder, time, CPU, and libraries after those that compute, by name and version ("dnnl", "torch"). Model,
/// ranks and the rest are the caller's.
RunInfo describeRun(std::vector<std::string> command,
                    std::vector<std::pair<std::string, std::string>> computing);

/// Now, ISO 8601 in UTC: "2024-05-01T12:00:00Z".
std::string timeText();

enum class Existing { kRefuse, kReplace };
/// What whoever names the folder can do about one that is in the way.
struct FolderAdvice {
  std::string_view other = "choose another name with -o", replace = "replace it with --force";
};
/// Makes the folder of a new run: empty, and locked (flock) for as long as the descriptor lives, so that
/// nobody replaces it before its ranks have journals to lock. The folder itself is locked: no reader sees
/// anything of it, and the lock goes with this process; programs that it starts do not have it. Of several
/// that make the same folder at once one succeeds. On a file system without locks none is held.
/// kUsage: it is there already and must not be replaced (an empty folder may be used), or is no msdbg run, or
/// is being recorded right now.
core::Result<Descriptor> createRunFolder(const std::filesystem::path& folder, Existing existing,
                                         const FolderAdvice& advice = {});

}  // namespace msdbg::dump
