// Whether the tensors that a watchpoint names are there.
#include "core_engine/graph/names.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/condition.h"
#include "watchpoints/conditions/chosen.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::watch {
namespace {

using core::Error;
using core::ErrorCode;
using core::Graph;
using core::TensorId;

/// The kind that the condition looks at.
std::string_view kindOf(Target target) {
  if (target == Target::kWeight) return "a weight that trains";
  if (target == Target::kGradient) return "a gradient or has one";
  return target == Target::kActivation ? "the output of an activation function" : "of floating point";
}

bool isOfKind(const Graph& graph, Target target, const core::TensorInfo& info) {
  if (target == Target::kWeight) return isWeight(info) || isWeightUpdate(graph, info);
  if (target == Target::kGradient) return isGradient(info);
  return target != Target::kActivation || isActivation(graph, info);
}

std::vector<TensorId> tensorsOfKind(const Graph& graph, Target target) {
  return selectTensors(graph, [&](const core::TensorInfo& info) { return isOfKind(graph, target, info); });
}

core::Status nameFits(const ConditionDef& def, const ParameterSpec& spec, const std::string& name,
                      const Graph& graph) {
  const std::string where = std::string(def.id) + ": " + std::string(spec.name) + "=" + name + ": ";
  const std::vector<TensorId> meant = core::tensorsMeant(graph, name);
  if (meant.empty())
    return Error(ErrorCode::kNotFound, where + "no tensor " +
                                           (core::isGlob(name) ? "fits it" : "is called so") +
                                           core::nearestTensors(graph, name));
  if (!core::isGlob(name) && meant.size() > 1) {
    std::vector<std::string> names;
    for (const TensorId id : meant) names.push_back(graph.tensor(id).fullName());
    return Error(ErrorCode::kUsage, where + core::ambiguousName(name, std::move(names)));
  }
  if (spec.type == ParameterType::kTensor && !mayBeNonFinite(graph.tensor(meant.front()).dtype))
    return Error(ErrorCode::kUsage, where + "it holds no floating-point numbers");
  if (spec.type == ParameterType::kTensors &&
      chosenTensors(graph, {{"tensors", std::vector{name}}}, tensorsOfKind(graph, def.target)).empty())
    return Error(ErrorCode::kUsage, where + "no tensor of these is " + std::string(kindOf(def.target)));
  return core::Ok{};
}

}  // namespace

core::Status namesFit(const Watchpoint& watchpoint, const Graph& graph) {
  for (const ParameterSpec& spec : watchpoint.condition->parameters) {
    const auto given = watchpoint.parameters.find(spec.name);
    if (given == watchpoint.parameters.end() || spec.isNumber()) continue;
    const auto* list = std::get_if<std::vector<std::string>>(&given->second);
    for (const std::string& name : list ? *list : std::vector{std::get<std::string>(given->second)})
      MSDBG_TRY(nameFits(*watchpoint.condition, spec, name, graph));
  }
  return core::Ok{};
}

}  // namespace msdbg::watch
