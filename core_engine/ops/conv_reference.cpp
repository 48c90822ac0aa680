#include "core_engine/ops/conv_reference.h"

namespace msdbg::core {

ConvSizes convSizes(const Shape& x, const Shape& weight, const Attributes& attributes) {
  const Result<Window> window = makeWindow("Conv", attributes, x[2], x[3], weight[2], weight[3]);
  return {x[0], x[1], weight[0], window.value()};
}

}  // namespace msdbg::core
