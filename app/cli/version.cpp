#include "app/cli/version.h"

#include <fmt/format.h>

#include "app/cli/engine.h"
#include "dump/run_info.h"

namespace msdbg::app {

#ifdef MSDBG_WITH_GUI
constexpr const char* kGui = "built in (msdbg-gui)";
#else
constexpr const char* kGui =
    "not built in (install what packages.txt lists for the window, then build again)";
#endif

std::string versionText(const Engine& engine) {
  return fmt::format(
      "msdbg {}\n"
      "run format: {}.{}\n"
      "{}"
      "GUI:  {}\n",
      MSDBG_VERSION, dump::kFormatMajor, dump::kFormatMinor, engine.versionText(), kGui);
}

}  // namespace msdbg::app
