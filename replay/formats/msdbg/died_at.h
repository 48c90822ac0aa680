// Where Python was when a signal ended a rank: RUN/stacks/died_rank_N.txt, which Python's faulthandler wrote.
// Pure but for the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core_engine/base/ids.h"

namespace msdbg::replay {

/// "train.py:16 in die": the innermost line outside of installed packages and the standard library, of the
/// thread that got the signal, else of the others; "" where the text names none.
std::string diedAt(std::string_view faulthandlerText);

/// "Segmentation fault", as Python's faulthandler calls what ended a rank; "" where nothing was written.
std::string fatalErrorOf(const std::filesystem::path& run, core::Rank rank);

/// "; Python was at train.py:16 in die"; "" where nothing was written.
std::string diedAtText(const std::filesystem::path& run, core::Rank rank);

}  // namespace msdbg::replay
