#include "app/cli/version.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/cli/engine.h"
#include "dump/run_info.h"

namespace msdbg::app {

namespace {

// pip's msdbg is built of the same sources, and comes without a window.
std::string guiText() {
#ifdef MSDBG_WITH_GUI
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "msdbg-gui";
  return std::filesystem::exists(beside, error) ? "built in (msdbg-gui)"
                                                : "msdbg-gui is not beside this msdbg (./dev build makes it)";
#else
  return "not built in (install what packages.txt lists for the window, then build again)";
#endif
}

}  // namespace

std::string versionText(const Engine& engine) {
  return fmt::format(
      "msdbg {}\n"
      "run format: {}.{}\n"
      "{}"
      "GUI:  {}\n",
      MSDBG_VERSION, dump::kFormatMajor, dump::kFormatMinor, engine.versionText(), guiText());
}

}  // namespace msdbg::app
