#include "app/cli/expected_text.h"

#include <fmt/format.h>

#include "app/cli/table.h"
#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

using core::formatBytes;
using dump::ExpectedSize;

std::uint64_t mostBytes(const ExpectedSize& size) {
  return size.iterationBytes * static_cast<std::uint64_t>(size.iterations) + size.stateBytes();
}

std::string everyText(const ExpectedSize& size) {
  return size.checkpointEvery == 1 ? "every iteration"
                                   : fmt::format("every {} iterations", size.checkpointEvery);
}

// ", 2 checkpoints of 20 MB (every 25 iterations)"
std::string checkpointsText(const ExpectedSize& size) {
  if (size.checkpoints == 0) return {};
  return fmt::format(", {} of {} ({})", counted(size.checkpoints, "checkpoint"),
                     formatBytes(size.checkpointBytes), everyText(size));
}

// What limits the run: its budget, or the disk.
std::string limitText(const DumpPlan& plan) {
  if (plan.budget() == plan.record.maxBytes) return "--max-size";
  return fmt::format("of {} free {} stay free: --keep-free", formatBytes(plan.disk.free),
                     formatBytes(plan.record.keepFree.value_or(dump::defaultKeepFree(plan.disk.total))));
}

// Two numbers of bytes, of which the second is cut off by the budget.
std::string totalText(const DumpPlan& plan) {
  const std::uint64_t all = plan.size->bytes();
  if (plan.record.onHit.on())
    return fmt::format("{} of statistics, and values near hits within {} ({})",
                       formatBytes(plan.size->statisticsBytes), formatBytes(plan.budget()), limitText(plan));
  if (all <= plan.budget()) return formatBytes(all) + " before compression";
  return fmt::format("{} before compression, cut to {} ({}, the newest are kept)", formatBytes(all),
                     formatBytes(plan.budget()), limitText(plan));
}

}  // namespace

std::string expectedText(const DumpPlan& plan) {
  if (!plan.size) return fmt::format("at most {} ({})", formatBytes(plan.budget()), limitText(plan));
  const ExpectedSize& size = *plan.size;
  return fmt::format("{}: {} x {}{}{}, {} of {} with values", totalText(plan),
                     counted(size.iterations, "iteration"), mostBytes(size) == size.bytes() ? "" : "at most ",
                     formatBytes(size.iterationBytes), checkpointsText(size), groupedNumber(size.fullTensors),
                     counted(size.tensors, "tensor"));
}

std::string onHitText(const dump::OnHit& onHit) {
  const auto conditions = dump::onHitConditions(onHit.conditions);
  if (!conditions.ok() || conditions->leftOut.empty()) return onHit.text();
  return fmt::format("{} (only msdbg check can tell: {})", onHit.text(),
                     core::join(conditions->leftOut, ", "));
}

Json onHitJson(const dump::OnHit& onHit) {
  const auto conditions = dump::onHitConditions(onHit.conditions);
  if (!onHit.on() || !conditions.ok()) return nullptr;
  Json json = {{"conditions", Json::array()},
               {"before", onHit.before},
               {"after", onHit.after},
               {"stop", onHit.stop},
               {"left_out", conditions->leftOut}};
  for (const watch::Watchpoint& watchpoint : conditions->watchpoints)
    json["conditions"].push_back(watchpoint.argument());
  return json;
}

std::string rulesTable(const DumpPlan& plan) {
  if (!plan.size) {
    Table table({"rule"});
    for (const dump::Rule& rule : plan.record.allRules()) table.row({dump::ruleText(rule)});
    return table.text();
  }
  Table table({"rule", ">tensors", ">iterations", ">an iteration", ">values", ">statistics"});
  for (const ExpectedSize::Part& part : plan.size->parts)
    table.row({dump::ruleText(part.rule), groupedNumber(part.tensors), groupedNumber(part.iterations),
               formatBytes(part.iterationBytes), formatBytes(part.valueBytes),
               formatBytes(part.statisticsBytes)});
  const ExpectedSize& size = *plan.size;
  if (size.batchIterationBytes > 0)
    table.row({"batches", "", groupedNumber(size.iterations), formatBytes(size.batchIterationBytes),
               formatBytes(size.batchBytes()), ""});
  if (size.checkpoints > 0)
    table.row({"checkpoints, " + everyText(size), "", groupedNumber(size.checkpoints),
               formatBytes(size.checkpointBytes), formatBytes(size.stateBytes()), ""});
  table.row({"all", groupedNumber(size.tensors), groupedNumber(size.iterations),
             formatBytes(size.iterationBytes),
             formatBytes(size.valueBytes + size.batchBytes() + size.stateBytes()),
             formatBytes(size.statisticsBytes)});
  return table.text();
}

Json expectedJson(const DumpPlan& plan) {
  if (!plan.size) return nullptr;
  const ExpectedSize& size = *plan.size;
  Json json = {{"bytes", std::min(size.bytes(), plan.budget())},
               {"bytes_per_iteration", size.iterationBytes},
               {"iterations", size.iterations},
               {"tensors", size.tensors},
               {"full_tensors", size.fullTensors},
               {"value_bytes", size.valueBytes},
               {"statistics_bytes", size.statisticsBytes},
               {"batch_bytes_per_iteration", size.batchIterationBytes},
               {"batch_bytes", size.batchBytes()},
               {"checkpoint_every", size.checkpointEvery > 0 ? Json(size.checkpointEvery) : Json()},
               {"checkpoints", size.checkpoints},
               {"checkpoint_bytes", size.checkpointBytes},
               {"state_bytes", size.stateBytes()},
               {"rules", Json::array()}};
  for (const ExpectedSize::Part& part : size.parts)
    json["rules"].push_back({{"rule", dump::ruleText(part.rule)},
                             {"policy", dump::policyName(part.rule.policy)},
                             {"tensors", part.tensors},
                             {"iterations", part.iterations},
                             {"bytes_per_iteration", part.iterationBytes},
                             {"value_bytes", part.valueBytes},
                             {"statistics_bytes", part.statisticsBytes}});
  return json;
}

}  // namespace msdbg::app
