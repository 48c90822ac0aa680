#include "app/cli/unified_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>
#include <set>
#include <sstream>
#include <vector>

// clang-format off: dtl counts on the headers above.
#include <dtl/dtl.hpp>
// clang-format on

#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

std::vector<std::string> linesOf(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? std::vector<std::string>() : core::split(std::string(text), '\n');
}

}  // namespace

std::string unifiedDiff(std::string_view before, std::string_view after, std::string_view nameBefore,
                        std::string_view nameAfter) {
  if (before == after) return "";
  dtl::Diff<std::string> diff(linesOf(before), linesOf(after));
  diff.onHuge();
  diff.compose();
  diff.composeUnifiedHunks();
  std::ostringstream hunks;
  diff.printUnifiedFormat(hunks);
  return fmt::format("--- {}\n+++ {}\n{}", nameBefore, nameAfter, hunks.str());
}

}  // namespace msdbg::app
