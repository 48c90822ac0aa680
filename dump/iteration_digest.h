// IterationDigest: one hash over the hashes of all tensors that one rank recorded in an iteration. It stays
// when the rows it was made from have gone, as the evidence that a recomputation gave the same. Value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {

class IterationDigest {
 public:
  /// Tensors come in the order of their ids. One without a hash (0) does not count.
  void add(std::int64_t tensor, const core::Hash128& hash) {
    if (hash != core::Hash128()) m_entries.push_back({tensor, hash});
  }
  /// 0: of no tensor.
  core::Hash128 finish() const {
    return m_entries.empty() ? core::Hash128() : core::hashBytes(std::as_bytes(std::span(m_entries)));
  }

 private:
  struct Entry {
    std::int64_t tensor;
    core::Hash128 hash;
  };
  static_assert(sizeof(Entry) == 24, "as FORMAT.md says, without padding");
  std::vector<Entry> m_entries;
};

}  // namespace msdbg::dump
