#include "tests/corpus/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <regex>
#include <stdexcept>

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/findings.h"
#include "replay/run.h"
#include "watchpoints/check.h"

namespace msdbg::corpus {
namespace {

using watch::Hit;

constexpr std::size_t kMostHints = 2;
constexpr std::string_view kMarker = "// WRONG";

// Their advice lists every origin of a NaN, so it names none: the finding itself must say which.
constexpr std::array<std::string_view, 4> kGeneralAdvice = {"nonfinite_propagation", "tensor_overflow",
                                                            "weight_overflow", "gradient_exploding"};

std::string placeName(const core::Graph& graph, const Hit& hit) {
  if (hit.node.valid()) return graph.node(hit.node).name;
  return hit.tensor.valid() ? graph.tensor(hit.tensor).name : "the run";
}

std::string wordsOf(const Hit& hit) {
  std::string words = fmt::format("{}; {}; {}", hit.condition->id, hit.condition->title, hit.detail);
  if (std::ranges::find(kGeneralAdvice, hit.condition->id) == kGeneralAdvice.end())
    words += fmt::format("; {}", hit.condition->advice);
  return words;
}

std::span<const core::FrameId> framesOf(const core::Graph& graph, const Hit& hit) {
  if (!hit.node.valid() && !hit.tensor.valid()) return {};
  return replay::framesOf(graph, hit);
}

bool isMarked(const core::Frame& frame) { return frame.code.find(kMarker) != std::string::npos; }

bool onMarkedLine(const core::Graph& graph, const Hit& hit) {
  return std::ranges::any_of(framesOf(graph, hit),
                             [&](core::FrameId id) { return isMarked(graph.frame(id)); });
}

/// A place that nothing can be at would make every answer wrong.
void checkHasPlace(const core::Graph& graph, const SickCase& tested) {
  if (!tested.places.empty() || std::ranges::any_of(graph.frames(), isMarked)) return;
  throw std::runtime_error(
      "no line of its graph is marked // WRONG: forgotten, or the recorder could not read the case's source "
      "(compiled with paths that do not begin at the repository's root, as ccache's base_dir makes them?)");
}

bool hasName(const core::Graph& graph, const Hit& hit, std::string_view glob) {
  if (core::globMatch(glob, placeName(graph, hit))) return true;
  if (!hit.tensor.valid()) return false;
  const core::TensorInfo& tensor = graph.tensor(hit.tensor);
  return core::globMatch(glob, tensor.name) || core::globMatch(glob, tensor.alias);
}

bool placeIsRight(const core::Graph& graph, const Hit& hit, const SickCase& tested) {
  if (tested.rank >= 0 && hit.rank.value != tested.rank) return false;
  if (tested.iteration >= 0 && hit.iteration.value != tested.iteration) return false;
  return onMarkedLine(graph, hit) ||
         std::ranges::any_of(tested.places, [&](std::string_view glob) { return hasName(graph, hit, glob); });
}

std::string headlineOf(const core::Graph& graph, const Hit& hit) {
  const std::string line = replay::sourceLine(graph.userFrame(framesOf(graph, hit)));
  return fmt::format("{} at {}, rank {}, iteration {}   {}", hit.condition->id, placeName(graph, hit),
                     hit.rank.value, hit.iteration.value, line);
}

void readLosses(replay::Run& run, Said& said) {
  const std::vector<core::Iteration> iterations = run.iterations(core::Rank(0));
  said.iterations = static_cast<std::int64_t>(iterations.size());
  if (iterations.empty()) return;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  said.firstLoss = run.scalar(core::Rank(0), iterations.front(), "loss").value_or(kUnknown);
  said.lastLoss = run.scalar(core::Rank(0), iterations.back(), "loss").value_or(kUnknown);
}

/// `first`: the first finding, nullptr where there is none.
struct Answer {
  std::unique_ptr<replay::Run> run;
  watch::CheckReport report;
  const Hit* first = nullptr;
  Said said;
};

Answer ask(const std::filesystem::path& folder) {
  Answer answer;
  auto opened = replay::Run::open(folder);
  if (!opened.ok()) throw std::runtime_error(opened.error().message());
  answer.run = std::move(*opened);
  answer.report = watch::check(*answer.run, watch::recommendedSet(), {});
  const watch::CheckReport& report = answer.report;
  Said& said = answer.said;
  said.faults = report.hits.size();
  said.hintLines = replay::foldHits(report.hints, replay::HitDetail::kFirstOfEach).size();
  readLosses(*answer.run, said);
  if (report.first) answer.first = &*report.first;
  if (!answer.first && !report.hints.empty()) answer.first = &report.hints.front();
  if (!answer.first) return answer;
  said.fault = report.first.has_value();
  said.headline = headlineOf(answer.run->graph(), *answer.first);
  said.words = wordsOf(*answer.first);
  return answer;
}

}  // namespace

Judgement judge(const HealthyCase&, const std::filesystem::path& folder) {
  const Answer answer = ask(folder);
  Judgement judgement{.said = answer.said, .found = answer.first != nullptr};
  judgement.right = !answer.report.first && answer.said.hintLines <= kMostHints;
  if (answer.report.first)
    judgement.why = "a fault";
  else if (!judgement.right)
    judgement.why = fmt::format("{} lines of hints", answer.said.hintLines);
  return judgement;
}

Judgement judge(const SickCase& tested, const std::filesystem::path& folder) {
  const Answer answer = ask(folder);
  checkHasPlace(answer.run->graph(), tested);
  Judgement judgement{.said = answer.said, .found = answer.first != nullptr};
  if (!answer.first) {
    judgement.why = "nothing found";
    return judgement;
  }
  const std::regex cause(std::string(tested.cause), std::regex::ECMAScript | std::regex::icase);
  judgement.place = placeIsRight(answer.run->graph(), *answer.first, tested);
  judgement.cause = std::regex_search(answer.said.words, cause);
  judgement.right = judgement.place && judgement.cause;
  if (!judgement.place) judgement.why = judgement.cause ? "wrong place" : "wrong place and cause";
  if (judgement.place && !judgement.cause) judgement.why = "cause not named";
  return judgement;
}

}  // namespace msdbg::corpus
