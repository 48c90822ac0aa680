// IterationMap: which segment has an iteration, kept by ranges. Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core_engine/base/iteration_set.h"

namespace msdbg::dump {

class IterationMap {
 public:
  using Range = core::IterationSet::Range;
  struct Part {
    std::int64_t last = 0;  // of the range
    std::size_t segment = 0;
  };

  void clear() { m_parts.clear(); }
  /// The segment has these from now on, whichever had them.
  void assign(Range range, std::size_t segment);
  std::optional<std::size_t> find(std::int64_t iteration) const;
  /// First iteration of a range -> its last one and its segment; ascending.
  const std::map<std::int64_t, Part>& parts() const { return m_parts; }

 private:
  std::map<std::int64_t, Part> m_parts;
};

}  // namespace msdbg::dump
