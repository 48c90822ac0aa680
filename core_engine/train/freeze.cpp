#include "core_engine/train/freeze.h"

#include "core_engine/base/text.h"
#include "core_engine/graph/names.h"
#include "core_engine/train/build_mistake.h"

namespace msdbg::core {
namespace {

void checkUntrained(const Graph& graph, const Where& where) {
  if (graph.hasTrainer())
    buildMistake("freeze: " + graph.name() + " has its Trainer already; freeze before that is made", where);
}

}  // namespace

void freeze(Value parameter, Where where) {
  if (!parameter.valid()) buildMistake("freeze: the parameter is an empty Value", where);
  Graph& graph = parameter.graph();
  checkUntrained(graph, where);
  TensorInfo& info = graph.tensor(parameter.id());
  if (info.role != TensorRole::kParameter)
    buildMistake("freeze: " + info.fullName() + " is no parameter but " + std::string(roleName(info.role)) +
                     "; give what Graph::parameter returned, or freeze(graph, \"its/scope/*\")",
                 where);
  info.trainable = false;
}

void freeze(Graph& graph, std::string_view glob, Where where) {
  checkUntrained(graph, where);
  bool any = false;
  for (const TensorInfo& info : graph.tensors()) {
    if (info.role != TensorRole::kParameter) continue;
    if (!globMatch(glob, info.name)) continue;
    graph.tensor(info.id).trainable = false;
    any = true;
  }
  if (!any)
    buildMistake("freeze: the name of no parameter made so far fits '" + std::string(glob) + "'" +
                     nearestParameters(graph, glob),
                 where);
}

}  // namespace msdbg::core
