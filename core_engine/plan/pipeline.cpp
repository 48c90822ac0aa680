#include "core_engine/plan/pipeline.h"

#include <algorithm>
#include <chrono>

#include "core_engine/plan/recompute_scopes.h"

namespace msdbg::core {
namespace {

Status runPass(const PlanPass& pass, const Graph& graph, const PlanOptions& options, Plan& plan,
               PassReport& report) {
  const auto start = std::chrono::steady_clock::now();
  pass.run(graph, options, plan, report.notes);
  if (Status s = verifyPlan(graph, options, plan); !s.ok())
    return s.error().in("after pass " + std::string(pass.name));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  report.milliseconds = took.count();
  return Ok{};
}

Status checkShapes(const Graph& graph) {
  for (const TensorInfo& info : graph.tensors())
    if (!info.shape.known())
      return Error(ErrorCode::kUsage, info.fullName() + " has unknown dimensions " + info.shape.text() +
                                          " and cannot be executed");
  return Ok{};
}

}  // namespace

void PassNotes::refuse(const std::string& reason) {
  const auto known = std::ranges::find(refusals, reason, &std::pair<std::string, std::int64_t>::first);
  if (known == refusals.end())
    refusals.emplace_back(reason, 1);
  else
    ++known->second;
}

std::span<const PlanPass> planPasses() {
  static const PlanPass kPasses[] = {identitiesPass(),    commonSubexpressionsPass(),
                                     deadNodesPass(),     constantFoldingPass(),
                                     recomputationPass(), layoutPass(),
                                     groupsPass(),        inPlacePass(),
                                     memoryPass()};
  return kPasses;
}

Result<Plan> makePlan(const Graph& graph, const PlanOptions& options, PlanTrace* trace) {
  MSDBG_TRY(checkShapes(graph));
  MSDBG_TRY(checkRecomputed(graph, options.choices.recompute));
  Plan plan = plainPlan(graph);
  for (const PlanPass& pass : planPasses()) {
    PassReport report{std::string(pass.name), options.choices.passes.on(pass.name), 0, {}, {}, {}};
    const bool texts = trace && trace->texts;
    if (texts) report.before = planText(graph, plan);
    if (report.on) MSDBG_TRY(runPass(pass, graph, options, plan, report));
    if (texts) report.after = planText(graph, plan);
    if (trace) trace->reports.push_back(std::move(report));
  }
  return plan;
}

}  // namespace msdbg::core
