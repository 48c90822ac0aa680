#include "core_engine/tensor/dtype.h"

namespace msdbg::core {
namespace {

struct Row {
  DType dtype;
  std::size_t size;
  std::string_view name;
};
constexpr Row kRows[] = {{DType::Float32, 4, "float32"}, {DType::Float64, 8, "float64"},
                         {DType::Int64, 8, "int64"},     {DType::Int32, 4, "int32"},
                         {DType::UInt8, 1, "uint8"},     {DType::Bool, 1, "bool"}};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype) - 1]; }

}  // namespace

std::size_t dtypeSize(DType dtype) { return row(dtype).size; }
std::string_view dtypeName(DType dtype) { return row(dtype).name; }
bool isFloating(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.dtype;
  return std::nullopt;
}

}  // namespace msdbg::core
