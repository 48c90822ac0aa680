#include "core_engine/ops/op_facts.h"

#include <algorithm>
#include <charconv>

namespace msdbg::core {
namespace {

bool takes(DataTypes taken, DType dtype) {
  switch (taken) {
    case DataTypes::kFloating:
      return isFloating(dtype);
    case DataTypes::kNumbers:
      return dtype != DType::Bool;
    case DataTypes::kInt64:
      return dtype == DType::Int64;
    case DataTypes::kBool:
      return dtype == DType::Bool;
    case DataTypes::kAny:
      break;
  }
  return true;
}

}  // namespace

OpOrigin originOf(const OpDef& op) {
  const std::string mark = "ONNX " + std::string(op.name) + "-";
  const std::size_t at = op.doc.find(mark);
  OpOrigin origin{"msdbg", 0};
  if (at == std::string_view::npos) return origin;
  const std::string_view digits = op.doc.substr(at + mark.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), origin.since);
  origin.domain = "ai.onnx";
  return origin;
}

std::vector<std::string_view> dataTypeNames(const OpDef& op) {
  std::vector<std::string_view> names;
  for (const DType dtype : kComputedDTypes)
    if (takes(op.dataTypes, dtype)) names.push_back(dtypeName(dtype));
  return names;
}

bool hasComputedDTypes(const Graph& graph, const Node& node) {
  const auto computed = [&](TensorId id) {
    return isComputed(graph.tensor(id).dtype) || isRounded(graph.tensor(id).dtype);
  };
  return std::ranges::all_of(node.inputs, computed) && std::ranges::all_of(node.outputs, computed);
}

std::vector<std::string_view> gradientOpsOf(const OpDef& op) {
  std::vector<std::string_view> names;
  for (const OpDef& other : allOps())
    if (other.name.starts_with(op.name) && other.name.substr(op.name.size()).starts_with("Grad"))
      names.push_back(other.name);
  return names;
}

}  // namespace msdbg::core
