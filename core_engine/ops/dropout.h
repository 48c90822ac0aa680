// What Dropout and DropoutGrad share: the ratio and the factor of kept elements.
#pragma once

#include "core_engine/ops/infer.h"

namespace msdbg::core {

inline double dropRatio(const Attributes& attributes) { return floatAttribute(attributes, "ratio", 0.5); }
inline double keptScale(double ratio) { return 1.0 / (1.0 - ratio); }

inline Status checkDropRatio(std::string_view op, const Attributes& attributes) {
  const double ratio = dropRatio(attributes);
  if (ratio >= 0 && ratio < 1) return Ok{};
  return inferError(op,
                    "attribute ratio is " + std::to_string(ratio) + ", but a number in [0, 1) was expected");
}

inline std::vector<AttributeDoc> dropoutAttributes() {
  return {{"ratio", "float", "0.5", "probability of dropping an element, in [0, 1)"}};
}

}  // namespace msdbg::core
