// The place of an element, as an index list: element 336 of [32, 48] is [7, 0]. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

std::vector<std::int64_t> indexOf(const Shape& shape, std::int64_t flatIndex);
/// "12, 0, 3": the place of a flat index; "" in a scalar.
std::string indexText(const Shape& shape, std::int64_t flatIndex);

}  // namespace msdbg::core
