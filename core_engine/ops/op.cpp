#include "core_engine/ops/op.h"

#include <algorithm>

#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

template <typename T>
const T* findAttribute(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return nullptr;
  return std::get_if<T>(&found->second);  // of other frameworks' nodes nobody has checked the types
}

/// Which dimensions of `from` a broadcast from `to` made or repeated.
Ints broadcastAxes(const Shape& from, const Shape& to) {
  const std::size_t missing = from.rank() - to.rank();
  Ints axes;
  for (std::size_t d = 0; d < from.rank(); ++d) {
    if (d < missing || (to[d - missing] == 1 && from[d] != 1)) axes.push_back(static_cast<std::int64_t>(d));
  }
  return axes;
}

}  // namespace

std::int64_t intAttribute(const Attributes& a, std::string_view name, std::int64_t fallback) {
  const auto* value = findAttribute<std::int64_t>(a, name);
  return value ? *value : fallback;
}

double floatAttribute(const Attributes& a, std::string_view name, double fallback) {
  const auto* value = findAttribute<double>(a, name);
  return value ? *value : fallback;
}

std::vector<std::int64_t> intsAttribute(const Attributes& a, std::string_view name,
                                        std::vector<std::int64_t> fallback) {
  const auto* value = findAttribute<std::vector<std::int64_t>>(a, name);
  return value ? *value : std::move(fallback);
}

std::string stringAttribute(const Attributes& a, std::string_view name, std::string fallback) {
  const auto* value = findAttribute<std::string>(a, name);
  return value ? *value : std::move(fallback);
}

Value GradientBuilder::reduceTo(Value gradient, Shape shape) {
  const Shape from = gradient.shape();
  if (from == shape) return gradient;
  const Ints axes = broadcastAxes(from, shape);
  // Only new leading dimensions: they vanish in the sum itself. Else the sum keeps its dimensions and is
  // reshaped.
  const bool leadingOnly = axes.size() == from.rank() - shape.rank();
  const Value sum =
      apply1("ReduceSum", {gradient}, {{"axes", axes}, {"keepdims", std::int64_t{leadingOnly ? 0 : 1}}});
  const bool done = leadingOnly || from.rank() == shape.rank();
  return done ? sum : apply1("Reshape", {sum}, with({}, "shape", shape));
}

Value GradientBuilder::constant(double value, DType dtype) {
  Graph& graph = input(0).graph();
  TensorInfo info;
  info.name = graph.uniqueName("grad/" + forward().name + "/constant");
  info.dtype = dtype;
  info.role = TensorRole::kConstant;
  info.replicated = true;
  info.initializer = {Initializer::Kind::kConstant, value};
  info.frames = forward().frames;
  return Value(graph, graph.addSource(std::move(info)));
}

void GradientBuilder::refuseGradientOf(std::size_t i) {
  if (i >= forward().outputs.size() || !outputGradient(i)) return;
  throw BuildError(forward().name + ": the loss depends on output " + std::to_string(i) + " of " +
                   forward().opType + ", through which no gradient is computed");
}

std::span<const OpDef> allOps() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> made;
    for (OpFactory factory : builtinOps()) made.push_back(factory());
    std::sort(made.begin(), made.end(), [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
    return made;
  }();
  return ops;
}

const OpDef* findOp(std::string_view name) {
  const std::span<const OpDef> ops = allOps();
  const auto found = std::lower_bound(ops.begin(), ops.end(), name,
                                      [](const OpDef& op, std::string_view n) { return op.name < n; });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

const OpDef* findOp(const Node& node) {
  return node.isOwn() ? findOp(std::string_view(node.opType)) : nullptr;
}

}  // namespace msdbg::core
