#include "core_engine/tensor/batch.h"

#include <algorithm>

namespace msdbg::core {

const Tensor* Batch::find(std::string_view name) const {
  const auto found = std::ranges::find_if(tensors, [&](const auto& entry) { return entry.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

}  // namespace msdbg::core
