#include "core_engine/train/keep.h"

#include "core_engine/train/build_mistake.h"

namespace msdbg::core {

Value keep(Value value, Where where) {
  if (!value.valid()) buildMistake("keep: the value is an empty Value", where);
  Graph& graph = value.graph();
  if (graph.hasTrainer())
    buildMistake("keep: " + graph.name() + " has its Trainer already; keep before that is made", where);
  graph.tensor(value.id()).kept = true;
  return value;
}

}  // namespace msdbg::core
