// What Clip and ClipGrad share: the ends of the range. Pure functions.
#pragma once

#include <limits>

#include "core_engine/ops/op.h"

namespace msdbg::core {

struct ClipRange {
  double low, high;
};

inline ClipRange clipRange(const Attributes& attributes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {floatAttribute(attributes, "min", -kInfinity), floatAttribute(attributes, "max", kInfinity)};
}

inline std::vector<AttributeDoc> clipAttributes() {
  return {{"min", "float", "-inf", "lower end"},
          {"max", "float", "inf", "upper end; wins where it is below min"}};
}

}  // namespace msdbg::core
