#include "app/cli/expected_text.h"

#include <fmt/format.h>

#include <cmath>

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

dump::ExpectedWork workOf(const DumpPlan& plan) {
  return dump::expectedWork(plan.record, plan.ranks, plan.like ? plan.like->measured.stepSeconds : 0);
}

dump::ExpectedDisk likeDisk(const DumpPlan& plan) {
  return dump::expectedDisk(*plan.size, plan.like->measured, plan.record, plan.ranks);
}

// "12 ms", "3.5 s", "3 h 20 min", "8 d 3 h"
std::string secondsText(double seconds) {
  if (seconds < 1) return core::formatShort(seconds * 1000, 2) + " ms";
  if (seconds < 120) return core::formatShort(seconds, 3) + " s";
  const auto minutes = static_cast<std::int64_t>(seconds / 60), hours = minutes / 60;
  if (hours == 0) return fmt::format("{} min", minutes);
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

// "2.3", "340,000": two digits are known.
std::string fewDigits(double value) {
  if (value < 10) return core::formatShort(value, 2);
  double unit = 1;
  while (value / unit >= 100) unit *= 10;
  return groupedNumber(static_cast<std::int64_t>(std::round(value / unit) * unit));
}

bool onDevice(const DumpPlan& plan) { return plan.like->backend.find("cuda") != std::string::npos; }

// What the recorder takes of its memory: PyTorch's recorder copies values to the host to look at them.
std::string deviceText(const DumpPlan& plan) {
  if (!onDevice(plan)) return "no memory: the training is one on the CPU";
  return plan.like->from.empty() ? "its memory is not counted here"
                                 : "no memory is held there: values are copied to the host to be looked at, "
                                   "and training waits for that";
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

std::string likeText(const DumpPlan& plan) {
  const LikeRun& like = *plan.like;
  const double step = like.measured.stepSeconds;
  return fmt::format("{}{} of {}, like {} ({}{}{})",
                     plan.program.empty() ? "" : core::join(plan.program, " ") + " on ",
                     counted(plan.ranks, "rank"), counted(*plan.steps, "iteration"), like.path,
                     like.from.empty() ? "" : like.from + ", ", counted(like.iterations, "iteration"),
                     step > 0 ? fmt::format(" of {}", secondsText(step)) : "");
}

std::string diskText(const DumpPlan& plan) {
  const dump::ExpectedDisk disk = likeDisk(plan);
  std::string text = fmt::format(
      "folder    {} at the end: {} of statistics, {}{} that stays of every iteration, {} of journals, {} of "
      "graphs and sources\n",
      formatBytes(disk.bytes()), formatBytes(disk.rowBytes),
      disk.valueBytes > 0
          ? fmt::format("at most {} of values, checkpoints and batches, ", formatBytes(disk.valueBytes))
          : "",
      formatBytes(disk.alwaysBytes), formatBytes(disk.journalBytes), formatBytes(disk.graphBytes));
  if (disk.seconds > 0)
    text +=
        fmt::format("in all    {} of training, about {} files (most become one with others) and {} fsyncs\n",
                    secondsText(disk.seconds), fewDigits(disk.files), fewDigits(disk.fsyncs));
  text += fmt::format("device    {}\n", deviceText(plan));
  if (plan.like->ranks > 1)
    text += fmt::format("ranks     all are taken to be like rank {}: of {} none has more tensors\n",
                        plan.like->rank.value, groupedNumber(plan.like->ranks));
  return text;
}

Json likeJson(const DumpPlan& plan) {
  const LikeRun& like = *plan.like;
  const dump::ExpectedDisk disk = likeDisk(plan);
  const auto known = [&](double value) { return disk.seconds > 0 ? number(value) : Json(); };
  return {{"run", like.path},
          {"recorded_from", textOrNull(like.from)},
          {"rank", like.rank.value},
          {"iterations", like.iterations},
          {"step_seconds", known(like.measured.stepSeconds)},
          {"folder_bytes", disk.bytes()},
          {"statistics_bytes", disk.rowBytes},
          {"value_bytes", disk.valueBytes},
          {"always_bytes", disk.alwaysBytes},
          {"journal_bytes", disk.journalBytes},
          {"graph_bytes", disk.graphBytes},
          {"device_bytes", onDevice(plan) && like.from.empty() ? Json() : Json(0)},
          {"seconds", known(disk.seconds)},
          {"files", known(disk.files)},
          {"fsyncs", known(disk.fsyncs)}};
}

std::string workText(const DumpPlan& plan) {
  const dump::ExpectedWork work = workOf(plan);
  const std::string bytes =
      plan.size ? fmt::format(", {} for each iteration", formatBytes(plan.size->iterationBytes)) : "";
  return fmt::format("about {} files and {} fsyncs a second (--commit-every {}){}", fewDigits(work.files),
                     fewDigits(work.fsyncs), core::formatShort(plan.record.commitSeconds, 4), bytes);
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
  const dump::ExpectedWork work = workOf(plan);
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
