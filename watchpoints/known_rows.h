// KnownRows: what some sources can say of the rows of an iteration without reading any. A Source that can is
// one of these too.
#pragma once

#include "watchpoints/source.h"

namespace msdbg::watch {

class KnownRows {
 public:
  /// kThinned: statistics() has none of any tensor, and missingReason() would say `thinned`. kNotRecorded: it
  /// has none, and there is no such iteration.
  enum class Rows : char { kPossible, kThinned, kNotRecorded };

  virtual ~KnownRows() = default;
  virtual Rows rowsOf(core::Rank rank, core::Iteration iteration) const = 0;
};

/// kPossible where the source cannot say.
inline KnownRows::Rows rowsOf(const Source& source, core::Rank rank, core::Iteration iteration) {
  const auto* known = dynamic_cast<const KnownRows*>(&source);
  return known ? known->rowsOf(rank, iteration) : KnownRows::Rows::kPossible;
}

}  // namespace msdbg::watch
