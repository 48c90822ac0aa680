#include <algorithm>

#include "watchpoints/condition.h"

namespace msdbg::watch {
namespace {

void fold(NotEvaluable& into, const NotEvaluable& entry) {
  into.count += entry.count;
  if (into.iteration != entry.iteration) into.iteration = {};
  if (into.rank != entry.rank) into.rank = {};
  if (into.detail != entry.detail) into.detail.clear();
}

}  // namespace

void NotEvaluableList::add(Row row) {
  if (row.entry.reason == "absent") return;  // nothing to be evaluated
  const Key key{row.entry.reason, row.entry.tensor, row.tensors.data()};
  const auto [place, isNew] = m_index.try_emplace(key, m_rows.size());
  if (isNew)
    m_rows.push_back(std::move(row));
  else
    fold(m_rows[place->second].entry, row.entry);
}

void NotEvaluableList::add(const NotEvaluableList& other, std::int64_t times, core::Iteration last) {
  for (Row row : other.m_rows) {
    row.entry.count *= times;
    row.entry.iteration = times == 1 ? last : core::Iteration();
    add(std::move(row));
  }
}

std::vector<NotEvaluable> NotEvaluableList::take() {
  std::vector<NotEvaluable> all;
  std::map<std::pair<std::string, core::TensorId>, std::size_t> index;
  const auto list = [&](const NotEvaluable& entry, core::TensorId tensor) {
    const auto [place, isNew] = index.try_emplace({entry.reason, tensor}, all.size());
    if (!isNew) return fold(all[place->second], entry);
    all.push_back(entry);
    all.back().tensor = tensor;
  };
  for (const Row& row : m_rows) {
    if (row.tensors.empty()) list(row.entry, row.entry.tensor);
    for (const core::TensorId tensor : row.tensors) list(row.entry, tensor);
  }
  m_rows.clear();
  m_index.clear();
  return all;
}

bool NotEvaluableList::operator==(const NotEvaluableList& other) const {
  return std::ranges::equal(m_rows, other.m_rows, [](const Row& a, const Row& b) {
    return a.tensors.data() == b.tensors.data() && a.entry.reason == b.entry.reason &&
           a.entry.rank == b.entry.rank && a.entry.tensor == b.entry.tensor &&
           a.entry.detail == b.entry.detail && a.entry.count == b.entry.count;
  });
}

}  // namespace msdbg::watch
