// The passes over the plan: a flat list, each timed, verified and able to say what it did. Every one of them
// leaves every bit of every value as it is, so which are on is no part of a run's identity. Called from the
// training thread; pure functions otherwise.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core_engine/plan/plan.h"

namespace msdbg::core {

/// What a pass says about its work.
struct PassNotes {
  std::string summary;               // "12 buffers for 80 tensors"; "" when nothing changed
  std::vector<std::string> changes;  // a line each
  std::vector<std::pair<std::string, std::int64_t>> refusals;  // why not -> how often, in order of meeting

  void refuse(const std::string& reason);
};

struct PlanPass {
  std::string_view name, doc;
  void (*run)(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes);
};
std::span<const PlanPass> planPasses();  // pipeline.cpp: the only list, in the order in which they run

struct PassReport {
  std::string pass;
  bool on = true;
  double milliseconds = 0;
  PassNotes notes;
  std::string before, after;  // the plan's text, where asked for
};
struct PlanTrace {
  bool texts = false;  // asked for
  std::vector<PassReport> reports;
};

/// Runs the passes that are on. kUsage: a tensor with unknown dimensions; kInternal (naming the pass): one
/// broke the plan; kNotFound: options.choices.recompute
/// names no scope of the forward pass.
Result<Plan> makePlan(const Graph& graph, const PlanOptions& options, PlanTrace* trace = nullptr);

// One file per pass.
PlanPass identitiesPass();            // identities.cpp
PlanPass commonSubexpressionsPass();  // common_subexpressions.cpp
PlanPass deadNodesPass();             // dead_nodes.cpp
PlanPass constantFoldingPass();       // constant_folding.cpp
PlanPass recomputationPass();         // recomputation.cpp
PlanPass layoutPass();                // layout.cpp
PlanPass groupsPass();                // groups.cpp
PlanPass inPlacePass();               // in_place.cpp
PlanPass memoryPass();                // memory.cpp

}  // namespace msdbg::core
