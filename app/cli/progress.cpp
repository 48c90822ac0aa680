#include "app/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace msdbg::app {

Progress::Progress() : m_terminal(isatty(STDERR_FILENO)), m_lines(getenv("MSDBG_PROGRESS_LINES")) {}

void Progress::line(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!(m_terminal || m_lines) || now - m_last < std::chrono::milliseconds(100)) return;
  m_last = now;
  if (m_lines) {
    fmt::print(stderr, "{}\n", text);
    fflush(stderr);
    return;
  }
  m_drawn = true;
  fmt::print(stderr, "\r\033[K{}", text);
  fflush(stderr);
}

void Progress::share(const std::string& what, double share) {
  line(fmt::format("{} {:.0f} %", what, 100 * share));
}

void Progress::clear() {
  if (m_drawn) fmt::print(stderr, "\r\033[K");
  m_drawn = false;
}

}  // namespace msdbg::app
