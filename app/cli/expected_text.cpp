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

// What --keep-last leaves, about: values go by segments, not by iterations.
std::uint64_t keptBytes(const DumpPlan& plan) {
  const ExpectedSize& size = *plan.size;
  const std::int64_t last = plan.record.keepLast;
  if (last == 0 || size.iterations <= last) return size.bytes();
  return size.bytes() - size.valueBytes +
         size.valueBytes / static_cast<std::uint64_t>(size.iterations) * static_cast<std::uint64_t>(last);
}

// Two numbers of bytes, of which the second is cut off by the budget or --keep-last.
std::string totalText(const DumpPlan& plan) {
  const std::uint64_t all = plan.size->bytes(), kept = keptBytes(plan);
  if (plan.record.onHit.on() && plan.record.keepsValues())
    return fmt::format("{} of statistics, and values near hits within {} ({})",
                       formatBytes(plan.size->statisticsBytes), formatBytes(plan.budget()), limitText(plan));
  if (kept < all && kept <= plan.budget())
    return fmt::format("{} before compression, cut to about {} (--keep-last {}, the newest are kept)",
                       formatBytes(all), formatBytes(kept), plan.record.keepLast);
  if (kept <= plan.budget()) return formatBytes(all) + " before compression";
  return fmt::format("{} before compression, cut to {} ({}, the newest are kept)", formatBytes(all),
                     formatBytes(plan.budget()), limitText(plan));
}

// "grad(network/fc1/weight), grad(network/fc1/bias), ... 4 more"
std::string namesText(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = names.size() == kShown + 1 ? names.size() : std::min(kShown, names.size());
  const std::string text = core::join(std::span(names).first(shown), ", ");
  return shown == names.size() ? text : fmt::format("{}, ... {} more", text, names.size() - shown);
}

// Whose values and statistics the rules take that somebody wrote; --json names all.
std::string namesTable(const DumpPlan& plan) {
  Table table({"rule", "its tensors"});
  for (std::size_t r = 0; r + 1 < plan.size->parts.size(); ++r) {  // the last one is what is left
    const ExpectedSize::Part& part = plan.size->parts[r];
    table.row({dump::ruleText(part.rule), part.names.empty() ? "none" : namesText(part.names)});
  }
  return table.empty() ? "" : "\n" + table.text();
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

// "about the newest 214 iterations whole, every 10th of 1,070 before, every 100th of 1,716 before"
std::string thinningText(const DumpPlan& plan) {
  if (!plan.size) return {};
  const dump::ExpectedThinning thinning = dump::expectedThinning(*plan.size, plan.record, plan.ranks);
  std::string text;
  for (const auto& part : thinning.parts)
    text += part.step == 1
                ? fmt::format("about the newest {} whole", counted(part.iterations, "iteration"))
                : fmt::format(", every {}th of {} before", part.step, groupedNumber(part.iterations));
  return text;
}

std::string workText(const DumpPlan& plan) {
  const dump::ExpectedWork work = dump::expectedWork(plan.record, plan.ranks);
  const std::string bytes =
      plan.size ? fmt::format(", {} for each iteration", formatBytes(plan.size->iterationBytes)) : "";
  return fmt::format("about {} files and {} fsyncs a second (--commit-every {}){}",
                     core::formatShort(work.files, 2), core::formatShort(work.fsyncs, 2),
                     core::formatShort(plan.record.commitSeconds, 4), bytes);
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
  return table.text() + namesTable(plan);
}

Json expectedJson(const DumpPlan& plan) {
  if (!plan.size) return nullptr;
  const ExpectedSize& size = *plan.size;
  Json json = {{"bytes", std::min(keptBytes(plan), plan.budget())},
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
  const dump::ExpectedWork work = dump::expectedWork(plan.record, plan.ranks);
  json["files_per_second"] = work.files;
  json["fsyncs_per_second"] = work.fsyncs;
  const dump::ExpectedThinning thinning = dump::expectedThinning(size, plan.record, plan.ranks);
  json["thinned"] = Json::array();
  for (const auto& part : thinning.parts)
    json["thinned"].push_back({{"every", part.step}, {"iterations", part.iterations}});
  for (const ExpectedSize::Part& part : size.parts)
    json["rules"].push_back({{"rule", dump::ruleText(part.rule)},
                             {"policy", dump::policyName(part.rule.policy)},
                             {"tensors", part.tensors},
                             {"names", part.names},
                             {"iterations", part.iterations},
                             {"bytes_per_iteration", part.iterationBytes},
                             {"value_bytes", part.valueBytes},
                             {"statistics_bytes", part.statisticsBytes}});
  return json;
}

}  // namespace msdbg::app
