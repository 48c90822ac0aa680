#include "watchpoints/meaning/replicas.h"

#include <algorithm>

namespace msdbg::watch {
namespace {

using Groups = std::vector<std::vector<core::Rank>>;

/// False: it is not known of all, or there are no replicas.
bool split(Source& source, Groups& groups, core::TensorId parameter) {
  Groups all;
  for (const auto& group : groups) {
    std::vector<std::pair<core::Hash128, std::vector<core::Rank>>> parts;
    for (const core::Rank rank : group) {
      const StatisticsRow* row = source.statistics(rank, core::Iteration(0), parameter);
      if (!row) return false;
      const core::Hash128 hash = row->values.hash;
      auto part = std::ranges::find(parts, hash, [](const auto& each) { return each.first; });
      if (part == parts.end()) part = parts.insert(part, {hash, {}});
      part->second.push_back(rank);
    }
    for (auto& [hash, ranks] : parts) all.push_back(std::move(ranks));
  }
  groups = std::move(all);
  return std::ranges::any_of(groups, [](const auto& group) { return group.size() > 1; });
}

}  // namespace

Replicas replicasOf(Source& source) {
  Groups groups = {source.ranks()};
  Replicas found;
  for (const core::TensorInfo& info : source.graph().tensors()) {
    if (info.role != core::TensorRole::kParameter || !info.trainable) continue;
    found.parameters.push_back(info.id);
    if (!split(source, groups, info.id)) return {};
  }
  for (const auto& group : groups)
    if (group.size() != groups.front().size()) return {};
  if (groups.size() > 1) found.groups = std::move(groups);
  return found;
}

}  // namespace msdbg::watch
