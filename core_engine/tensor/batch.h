// Batch: what one iteration of one rank is fed with. A value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/tensor/input_source.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

struct Batch {
  Iteration iteration{0};
  std::vector<std::pair<std::string, Tensor>>
      tensors;  // by input name as given to Graph::input: "x", "label"
  /// What some of them were made from, by the same names: recorded in their place. A loader need not say.
  std::vector<std::pair<std::string, InputSource>> sources = {};
  const Tensor* find(std::string_view name) const;
};

}  // namespace msdbg::core
