#include "core_engine/tensor/index_text.h"

namespace msdbg::core {

std::vector<std::int64_t> indexOf(const Shape& shape, std::int64_t flatIndex) {
  std::vector<std::int64_t> index(shape.rank());
  for (std::size_t d = shape.rank(); d-- > 0;) {
    index[d] = flatIndex % shape[d];
    flatIndex /= shape[d];
  }
  return index;
}

std::string indexText(const Shape& shape, std::int64_t flatIndex) {
  std::string text;
  for (const std::int64_t at : indexOf(shape, flatIndex))
    text += (text.empty() ? "" : ", ") + std::to_string(at);
  return text;
}

}  // namespace msdbg::core
