// The table of conditions, made once from the list of factories.
#include <algorithm>

#include "watchpoints/condition.h"

namespace msdbg::watch {

std::span<const ConditionDef> allConditions() {
  static const std::vector<ConditionDef> kAll = [] {
    std::vector<ConditionDef> all;
    for (const ConditionFactory make : builtinConditions()) all.push_back(make());
    return all;
  }();
  return kAll;
}

const ConditionDef* findCondition(std::string_view id) {
  const auto all = allConditions();
  const auto found = std::ranges::find(all, id, &ConditionDef::id);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace msdbg::watch
