// Messages for people on stderr, one line each; spdlog behind it. Thread-safe.
#pragma once

#include <string_view>

namespace msdbg::core {

void logInfo(std::string_view message);   // shown with MSDBG_LOG=info or lower
void logSay(std::string_view message);    // always shown: "msdbg: …"
void logWarn(std::string_view message);   // always shown: "msdbg: warning: …"
void logError(std::string_view message);  // always shown: "msdbg: error: …"

}  // namespace msdbg::core
