// How much two values may be apart without being told as a difference. Values and pure functions.
#pragma once

#include <string>

#include "core_engine/base/result.h"
#include "replay/diff/measures.h"

namespace msdbg::replay {

struct Tolerance {
  enum class Kind {
    kExact,    // every bit
    kScaled,   // so much of the tensor's largest number
    kLastBit,  // kLastBits times what one last bit of its inputs makes of it (last_bit.h)
  };
  Kind kind = Kind::kExact;
  double scale = 0;  // of kScaled

  /// "exact", "auto", or a number. kUsage.
  static core::Result<Tolerance> parse(const std::string& text);
  std::string text() const;  // "exact", "auto", "0.001"
};

/// Sums in another order differ by a few times as much as one last bit of each term makes: that measured 1 to
/// 4 on products of matrices, convolutions and reductions.
inline constexpr double kLastBits = 8;

}  // namespace msdbg::replay
