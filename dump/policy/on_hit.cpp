#include "dump/policy/on_hit.h"

#include "watchpoints/online.h"

namespace msdbg::dump {
namespace {

void addRecommended(OnHitConditions& conditions) {
  for (watch::Watchpoint& watchpoint : watch::recommendedSet()) {
    if (watch::whyNotOnline(watchpoint).empty())
      conditions.watchpoints.push_back(std::move(watchpoint));
    else
      conditions.leftOut.emplace_back(watchpoint.condition->id);
  }
}

}  // namespace

std::string OnHit::text() const {
  const std::string count = std::to_string(before) + (before == 1 ? " iteration" : " iterations");
  return core::join(conditions, ", ") + "; " + count + " before, " + std::to_string(after) + " after" +
         (stop ? "; then training stops" : "");
}

core::Result<OnHitConditions> onHitConditions(const std::vector<std::string>& texts) {
  OnHitConditions conditions;
  for (const std::string& text : texts) {
    if (text == "recommended") {
      addRecommended(conditions);
      continue;
    }
    MSDBG_ASSIGN(watch::Watchpoint watchpoint, watch::parseWatchpoint(text));
    if (const std::string why = watch::whyNotOnline(watchpoint); !why.empty())
      return core::Error(core::ErrorCode::kUsage,
                         text + " cannot be asked while training goes on: " + why +
                             " (ask msdbg check afterwards); these can: " + watch::onlineConditions());
    conditions.watchpoints.push_back(std::move(watchpoint));
  }
  return conditions;
}

}  // namespace msdbg::dump
