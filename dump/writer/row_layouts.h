// RowLayouts: what the rows of one dataset have in common; iterations of one segment have the same. Those of
// most iterations are those of the one before, and are then one object, so that comparing costs nothing.
// Used under PendingIterations' lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

struct RowLayout {
  core::DType dtype;
  std::vector<std::uint64_t> shape;
  std::optional<float> divisor;
  std::uint64_t largestChunk;  // 0: not encoded yet
  bool operator==(const RowLayout&) const = default;
};
using RowLayouts = std::map<RowKey, RowLayout>;

/// Gives records whose rows are all encoded their layouts; which object says the same as the last one.
class KnownLayouts {
 public:
  void settle(IterationRecord& record);

 private:
  std::shared_ptr<const RowLayouts> m_last;
};

/// Whether iterations may be of one segment, as far as their rows go: of each dataset all have one layout.
class CommonLayouts {
 public:
  /// False: the record's differ from those taken so far.
  bool takes(const IterationRecord& record);

 private:
  std::shared_ptr<const RowLayouts> m_only;  // of all so far
  RowLayouts m_all;                          // else
};

}  // namespace msdbg::dump
