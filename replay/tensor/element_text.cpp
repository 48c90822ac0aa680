#include <fmt/format.h>

#include <cmath>

#include "core_engine/base/text.h"
#include "replay/inspect.h"

namespace msdbg::replay {

using core::DType;
using core::Tensor;

namespace {

std::string wholeText(const Tensor& tensor, std::int64_t flatIndex) {
  const auto at = static_cast<std::size_t>(flatIndex);
  if (tensor.dtype() == DType::Bool) return tensor.at(flatIndex) != 0 ? "true" : "false";
  if (tensor.dtype() == DType::Int64) return std::to_string(tensor.data<std::int64_t>()[at]);
  return std::to_string(static_cast<std::int64_t>(tensor.at(flatIndex)));
}

}  // namespace

std::string elementText(const Tensor& tensor, std::int64_t flatIndex) {
  if (!core::isFloating(tensor.dtype())) return wholeText(tensor, flatIndex);
  return core::formatShort(tensor.at(flatIndex));
}

std::string exactElementText(const Tensor& tensor, std::int64_t flatIndex) {
  const auto at = static_cast<std::size_t>(flatIndex);
  if (core::isFloating(tensor.dtype()) && !std::isfinite(tensor.at(flatIndex)))
    return core::formatDouble(tensor.at(flatIndex));
  if (tensor.dtype() == DType::Float32) return fmt::format("{}", tensor.data<float>()[at]);
  if (tensor.dtype() == DType::Float64) return core::formatDouble(tensor.data<double>()[at]);
  return wholeText(tensor, flatIndex);
}

}  // namespace msdbg::replay
