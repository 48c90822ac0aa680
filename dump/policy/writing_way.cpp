#include "dump/policy/writing_way.h"

#include <algorithm>
#include <iterator>

namespace msdbg::dump {
namespace {

struct Named {
  const char* name;
  std::optional<WritingWay> way;
};

const Named kWays[] = {{"auto", std::nullopt},
                       {"team", WritingWay{.inTeam = true}},
                       {"thread", WritingWay{}},
                       {"team-direct", WritingWay{.inTeam = true, .direct = true}},
                       {"thread-direct", WritingWay{.direct = true}}};

}  // namespace

std::string WritingWay::text() const {
  return std::string(inTeam ? "training's threads" : "a thread of its own") +
         (direct ? ", past the page cache" : ", page cache");
}

core::Result<std::optional<WritingWay>> writingWayFromName(const std::string& name) {
  const auto* const row = std::ranges::find(kWays, name, &Named::name);
  if (row != std::end(kWays)) return row->way;
  return core::Error(core::ErrorCode::kUsage,
                     "'" + name + "' is no way to write (auto, team, thread, team-direct, thread-direct)");
}

std::string writingWayName(const std::optional<WritingWay>& way) {
  return std::ranges::find(kWays, way, &Named::way)->name;
}

}  // namespace msdbg::dump
