#include "app/cli/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "app/cli/json_output.h"
#include "core_engine/base/text.h"
#include "replay/loss_course.h"
#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Result;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(250);
constexpr auto kFarewell = std::chrono::seconds(10);  // the launcher says how a run ended after its ranks did

class Follower {
 public:
  Follower(OpenedRun run, const Context& context) : m_run(std::move(run)), m_context(context) {}

  Result<int> run() {
    // Asked first: what is committed after it is seen next time.
    while (true) {
      const bool recording = m_run.run->recording();
      MSDBG_ASSIGN(const replay::RunGrowth growth, grown());
      if (growth.newerGraph) {
        MSDBG_ASSIGN(m_run, openRun(m_run.path));
      }
      if (m_told.empty() || growth.any) printNew();
      if (recording) m_lastRecording = Clock::now();
      if (!recording && !endIsDue()) break;
      if (!wait(m_context)) return cancelledError();
    }
    if (!m_context.json) fmt::print("{}\n", core::printable(m_run.path + " " + endText(m_run)));
    return kExitFine;
  }

  /// false: Ctrl-C.
  static bool wait(const Context& context) {
    constexpr auto kStep = std::chrono::milliseconds(50);
    for (auto waited = kStep; waited <= kLook && !context.cancel.cancelled(); waited += kStep)
      std::this_thread::sleep_for(kStep);
    return !context.cancel.cancelled();
  }

 private:
  // It was being recorded a moment ago, and nobody has said yet how it ended.
  bool endIsDue() const {
    return m_lastRecording && m_run.run->description().end.state == "running" &&
           Clock::now() - *m_lastRecording < kFarewell;
  }

  Result<replay::RunGrowth> grown() {
    replay::Growing* const growing = m_run.run->growing();
    return growing ? growing->refresh() : Result<replay::RunGrowth>(replay::RunGrowth());
  }

  void printNew() {
    for (const core::Rank rank : m_run.run->ranks()) {
      const std::vector<core::Iteration> all = m_run.run->iterations(rank);
      const std::vector<std::int64_t> half = m_run.run->incompleteIterations(rank);
      const auto [told, first] = m_told.try_emplace(rank, -1);
      for (auto next = std::ranges::upper_bound(all, told->second); next != all.end(); ++next) {
        if (std::ranges::count(half, next->value) > 0) continue;
        told->second = *next;
        print(rank, *next);
      }
    }
    printNewMetrics();
    fflush(stdout);
  }

  // Of the first rank that says any: mostly all say the same.
  void printNewMetrics() {
    for (const core::Rank rank : m_run.run->ranks()) {
      const std::vector<replay::Metric> metrics = m_run.run->metrics(rank);
      if (metrics.empty()) continue;
      for (const replay::Metric& metric : metrics)
        for (const auto& [iteration, value] : metric.values)
          if (m_toldMetrics.emplace(metric.name, iteration).second)
            printMetric(rank, iteration, metric.name, value);
      return;
    }
  }

  void printMetric(core::Rank rank, core::Iteration iteration, const std::string& name, double value) const {
    if (m_context.json) {
      Json line = document("info.metric");
      line["rank"] = rank.value;
      line["iteration"] = iteration.value;
      line["name"] = name;
      line["value"] = number(value);
      printJsonLine(line);
      return;
    }
    fmt::print("iteration {:>6}   rank {}   {} {}\n", replay::iterationText(*m_run.run, rank, iteration),
               rank.value, core::printable(name), core::formatShort(value, 5));
  }

  void print(core::Rank rank, core::Iteration iteration) const {
    if (m_context.json) {
      Json line = document("info.iteration");
      line["rank"] = rank.value;
      line["iteration"] = iteration.value;
      for (const std::string& name : m_run.run->scalarNames())
        line["scalars"][name] = numberOrNull(m_run.run->scalar(rank, iteration, name));
      printJsonLine(line);
      return;
    }
    const std::optional<double> loss = replay::lossAt(*m_run.run, rank, iteration);
    fmt::print("iteration {:>6}   rank {}   loss {}\n", replay::iterationText(*m_run.run, rank, iteration),
               rank.value, loss ? core::formatShort(*loss, 5) : "");
  }

  OpenedRun m_run;
  const Context& m_context;
  std::map<core::Rank, core::Iteration> m_told;  // the last iteration that was printed
  std::set<std::pair<std::string, core::Iteration>> m_toldMetrics;
  std::optional<Clock::time_point> m_lastRecording;
};

}  // namespace

Result<int> followRun(const std::string& given, const Context& context) {
  MSDBG_ASSIGN(const std::string path, findRun(given));
  auto opened = openRun(path);
  for (bool told = false; !opened.ok() && opened.error().code() == core::ErrorCode::kUnavailable;
       opened = openRun(path)) {
    if (!std::exchange(told, true)) fmt::print(stderr, "msdbg: waiting for the graph of {}\n", path);
    if (!Follower::wait(context)) return cancelledError();
  }
  if (!opened.ok()) return opened.error();
  return Follower(std::move(*opened), context).run();
}

}  // namespace msdbg::app
