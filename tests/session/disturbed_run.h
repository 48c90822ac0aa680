// What the tests of recordings share that others disturb: the program that is recorded, and running something
// beside it.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/run_command.h"

namespace msdbg::test {

inline const std::string kProbe = buildDir() / "tests" / "session_probe";
inline const std::string kMsdbg = buildDir() / "bin" / "msdbg";

/// How often a text is in another.
int count(const std::string& text, const std::string& what);

/// Records a slow program as run.msdbg in the folder, with options of `msdbg dump`, and acts (bash) after its
/// first commit. The status is that of `msdbg dump`.
RunResult disturbed(const std::filesystem::path& folder, int ranks, const std::string& options,
                    const std::string& act);

/// A program that records nothing until the file `go` is there.
std::string waiting(const std::string& then);

/// Bash that waits for a file.
std::string untilThere(const std::string& file);

/// `first`, as a job whose status is that of all, and `then` when it has made `file`.
RunResult together(const std::filesystem::path& folder, const std::string& first, const std::string& file,
                   const std::string& then);

}  // namespace msdbg::test
