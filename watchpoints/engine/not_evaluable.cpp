#include "watchpoints/condition.h"

namespace msdbg::watch {

void NotEvaluableList::add(NotEvaluable entry) {
  if (entry.reason == "absent") return;  // nothing to be evaluated
  const auto [place, isNew] = m_index.try_emplace({entry.reason, entry.tensor}, m_entries.size());
  if (isNew) {
    m_entries.push_back(std::move(entry));
    return;
  }
  NotEvaluable& into = m_entries[place->second];
  into.count += entry.count;
  if (into.iteration != entry.iteration) into.iteration = {};
  if (into.rank != entry.rank) into.rank = {};
  if (into.detail != entry.detail) into.detail.clear();
}

}  // namespace msdbg::watch
