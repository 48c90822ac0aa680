// ONNX's numbers of element types (onnx.proto, TensorProto.DataType), as Cast's attribute `to` holds them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core_engine/tensor/dtype.h"

namespace msdbg::core {

inline constexpr std::pair<DType, std::int64_t> kOnnxNumbers[] = {{DType::Float32, 1},
                                                                  {DType::UInt8, 2},
                                                                  {DType::Int8, 3},
                                                                  {DType::UInt16, 4},
                                                                  {DType::Int16, 5},
                                                                  {DType::Int32, 6},
                                                                  {DType::Int64, 7},
                                                                  {DType::Bool, 9},
                                                                  {DType::Float16, 10},
                                                                  {DType::Float64, 11},
                                                                  {DType::UInt32, 12},
                                                                  {DType::UInt64, 13},
                                                                  {DType::Complex64, 14},
                                                                  {DType::Complex128, 15},
                                                                  {DType::BFloat16, 16},
                                                                  {DType::Float8E4M3FN, 17},
                                                                  {DType::Float8E4M3FNUZ, 18},
                                                                  {DType::Float8E5M2, 19},
                                                                  {DType::Float8E5M2FNUZ, 20}};

inline std::int64_t onnxNumber(DType dtype) {
  for (const auto& [type, number] : kOnnxNumbers)
    if (type == dtype) return number;
  return 0;  // UNDEFINED
}

inline std::optional<DType> dtypeFromOnnx(std::int64_t wanted) {
  for (const auto& [type, number] : kOnnxNumbers)
    if (number == wanted) return type;
  return std::nullopt;
}

}  // namespace msdbg::core
