#include "app/cli/timing_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/table.h"
#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

using replay::RecordingTimes;
using Stage = RecordingTimes::Stage;

double share(double seconds, const RecordingTimes& times) {
  return times.wallSeconds > 0 ? 100 * seconds / times.wallSeconds : 0;
}

const Timings::value_type& slowest(const Timings& timings) {
  return *std::ranges::max_element(timings, {}, [](const auto& entry) { return entry.second.seconds(); });
}

std::string rateText(const Stage& stage) {
  if (stage.bytes == 0 || stage.seconds <= 0) return "";
  return fmt::format("{:.2f} GB/s", static_cast<double>(stage.bytes) / stage.seconds / 1e9);
}

std::string summary(const core::Rank rank, const RecordingTimes& times) {
  return fmt::format("recording worked for {1:.2f} s in {2:.1f} s on rank {0}", rank.value, times.seconds(),
                     times.wallSeconds);
}

}  // namespace

Timings timings(const replay::Run& run) {
  Timings all;
  for (const core::Rank rank : run.ranks())
    if (const auto times = run.timing(rank)) all.emplace_back(rank, *times);
  return all;
}

std::string aboutSeconds(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string timingText(const Timings& timings) {
  if (timings.empty()) return "no rank came to its end: there are no times\n";
  const auto& [rank, times] = slowest(timings);
  Table table({"stage", ">seconds", ">% of the run", ">bytes", ">rate"});
  for (const Stage& stage : times.stages)
    table.row({stage.name, fmt::format("{:.3f}", stage.seconds),
               fmt::format("{:.1f}", share(stage.seconds, times)),
               stage.bytes ? core::formatBytes(stage.bytes) : "", rateText(stage)});
  std::string text = summary(rank, times) + (timings.size() > 1 ? ", the slowest\n" : "\n") + table.text();
  for (const auto& [other, otherTimes] : timings)
    if (other != rank) text += summary(other, otherTimes) + "\n";
  if (!times.writtenBy.empty()) text += "large values were written by " + times.writtenBy + "\n";
  return text +
         "stages of the background thread overlap training; compressed chunks are hashed within compress, "
         "small ones within build\n";
}

std::string timingLine(const Timings& timings) {
  if (timings.empty()) return "";
  const auto& [rank, times] = slowest(timings);
  std::vector<std::string> stages;
  for (const Stage& stage : times.stages)
    stages.push_back(fmt::format("{} {:.2f}", stage.name, stage.seconds));
  return fmt::format("{}{}: {}", summary(rank, times), timings.size() > 1 ? ", the slowest" : "",
                     core::join(stages, ", "));
}

std::string waitAdvice(const Timings& timings) {
  constexpr double kLeastSeconds = 5, kLeastPercent = 20;
  if (timings.empty()) return "";
  const auto longest = [](const auto& entry) { return entry.second["wait"].seconds; };
  const RecordingTimes& times = std::ranges::max_element(timings, {}, longest)->second;
  const double percent = share(times["wait"].seconds, times);
  if (times.wallSeconds < kLeastSeconds || percent < kLeastPercent) return "";
  const bool builds = times["build"].seconds > times["write"].seconds;
  return fmt::format(
      "training waited {:.0f} % of the time for its recording; lighter: {}fewer values (--record, --every), "
      "or none (--policy stats)",
      percent,
      builds ? "files written less often (--commit-every 10; it is the number of tensors that costs), " : "");
}

Json timingJson(const Timings& timings) {
  Json list = Json::array();
  for (const auto& [rank, times] : timings) {
    Json stages = Json::object();
    for (const Stage& stage : times.stages)
      stages[stage.name] = {{"seconds", stage.seconds}, {"bytes", stage.bytes}};
    list.push_back({{"rank", rank.value}, {"wall_seconds", times.wallSeconds}, {"stages", stages}});
    if (!times.writtenBy.empty()) list.back()["written_by"] = times.writtenBy;
  }
  return list;
}

}  // namespace msdbg::app
