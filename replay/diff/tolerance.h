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

/// Sums in another order differ by more than one last bit of each term makes, the more terms there are.
/// Chosen on gradients of one rank against two: up to 9 times on mlp, 11 on alexnet, 20 on lenet5 (the weight
/// of a convolution). gpt was tried afterwards and stays within.
inline constexpr double kLastBits = 32;

}  // namespace msdbg::replay
