#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/cli/check_view.h"
#include "app/cli/statistics_text.h"
#include "app/cli/table.h"
#include "replay/describe.h"
#include "replay/loss_course.h"
#include "replay/metric_course.h"
#include "replay/recorded_from.h"
#include "replay/user_steps.h"

namespace msdbg::app {

using watch::Hit;

namespace {

constexpr std::size_t kHintLines = 5, kLabel = 11;

std::string under(const std::string& label, const std::string& shown) {
  return fmt::format("  {:<{}}{}\n", label, kLabel - 2, shown);
}

std::string labelled(const std::string& label, const std::string& text) {
  return under(label, core::printable(text));
}

std::string wrappedLabel(const std::string& label, const std::string& text) {
  return under(label, wrapped(text, kLabel));
}

// The user's line, then the lines that called it.
std::string whereText(const core::Graph& graph, const Hit& hit) {
  if (!hit.node.valid() && !hit.tensor.valid()) return {};
  const auto frames = replay::framesOf(graph, hit);
  const core::Frame* user = graph.userFrame(frames);
  std::string text = labelled("where", sourceLine(user));
  bool below = false;
  std::string last = sourceLine(user);  // a scope may be opened on the line itself
  for (const core::FrameId id : frames) {
    const core::Frame& frame = graph.frame(id);
    const std::string line = sourceLine(&frame);
    if (below && line != last) text += labelled("", "in  " + line);
    if (below) last = line;
    below |= user && frame == *user;
  }
  return text;
}

std::string statisticsTable(const OpenedRun& run, const Hit& hit) {
  if (!hit.tensor.valid()) return {};
  const std::vector<replay::HitInput> inputs = replay::hitInputs(*run.run, hit);
  std::vector<std::string> headers = {"", "tensor", ">rank"};
  for (const std::string& header : statisticsHeaders()) headers.push_back(header);
  Table table(headers);
  const auto add = [&](const std::string& label, core::TensorId id, core::Rank rank,
                       const watch::StatisticsRow* row) {
    std::vector<std::string> cells = {label, tensorName(run.graph().tensor(id)), std::to_string(rank.value)};
    for (const std::string& cell : statisticsCells(row)) cells.push_back(cell);
    table.row(cells);
  };
  for (const replay::HitInput& input : inputs)
    add("input", input.tensor, input.rank, input.statistics ? &*input.statistics : nullptr);
  add(inputs.empty() ? "value" : "output", hit.tensor, hit.rank,
      run.run->flags(hit.rank, hit.iteration, hit.tensor));
  return "\n" + table.text(2);
}

std::string firstText(const CheckView& view) {
  const Hit& hit = *view.report.first;
  const core::Graph& graph = view.run.graph();
  std::string text = headline(view) + "\n" + core::printable(view.verdict.state()) + "\n\n";
  text += whereText(graph, hit);
  text += labelled("what", replay::whatText(graph, hit));
  if (hit.node.valid()) text += labelled("node", replay::nodeText(graph, hit));
  if (const std::string values = replay::valuesText(graph, hit); !values.empty())
    text += labelled("values", values);
  if (!hit.detail.empty()) text += wrappedLabel("detail", hit.detail);
  text += statisticsTable(view.run, hit) + "\n";
  std::string label = "then";
  for (const std::string& sentence : replay::consequences(*view.run.run, view.report)) {
    text += wrappedLabel(label, sentence);
    label.clear();
  }
  text += wrappedLabel("advice", std::string(hit.whatNext()));
  const std::string deeper = replay::deeperCommand(view.run.run->description(), graph, hit);
  if (!deeper.empty())
    text += wrappedLabel("deeper",
                         "which operator it was, a recording of these iterations tells (counted from where "
                         "the program begins: from a checkpoint, take that many away):") +
            labelled("", deeper);
  return text;
}

std::string whyTable(const CheckView& view) {
  Table table({">step", "tensor", ">rank", ">iteration", ">nan", ">inf", ">zero", ">mean|x|", ">max",
               ">mean|x| before", "line"});
  std::size_t number = 0;
  for (const replay::WhyStep& step : *view.why) {
    const core::TensorInfo& tensor = view.run.graph().tensor(step.tensor);
    const auto count = [&](std::int64_t of) {
      return step.statistics ? groupedNumber(of) : std::string("?");
    };
    const auto real = [](const std::optional<watch::StatisticsRow>& row, auto member) {
      return row ? core::formatShort(row->values.*member, 4) : std::string("?");
    };
    const core::TensorStatistics values =
        step.statistics ? step.statistics->values : core::TensorStatistics();
    table.row({std::to_string(++number), tensorName(tensor), std::to_string(step.rank.value),
               replay::iterationText(*view.run.run, step.rank, step.iteration), count(values.nan),
               count(values.inf()), count(values.zero),
               real(step.statistics, &core::TensorStatistics::meanAbs),
               real(step.statistics, &core::TensorStatistics::max),
               real(step.before, &core::TensorStatistics::meanAbs),
               placeOf(view.run.graph().userFrame(framesOf(view.run.graph(), step.tensor)))});
  }
  return table.text(2);
}

std::string whyText(const CheckView& view) {
  if (!view.why || !view.report.first) return {};
  if (view.why->empty() && !view.report.first->node.valid()) return {};  // nothing computes it
  if (view.why->empty())
    return "\n" +
           wrapped("WHY: every recorded input of " +
                       core::printable(replay::hitPlace(view.run.graph(), *view.report.first)) +
                       " is as usual; it went wrong there",
                   0) +
           "\n";
  std::string text =
      "\nWHY: the way back, at each step the input that is to blame; \"before\" is the iteration "
      "before\n\n" +
      whyTable(view) + "\n";
  std::size_t number = 0;
  for (const replay::WhyStep& step : *view.why) text += wrappedLabel(std::to_string(++number), step.reason);
  return text;
}

std::string perRankText(const CheckView& view) {
  if (view.report.firstPerRank.size() < 2) return {};
  Table table({">rank", ">iteration", "condition", "node", "line"});
  for (const Hit& hit : view.report.firstPerRank)
    table.row({std::to_string(hit.rank.value), replay::iterationText(*view.run.run, hit.rank, hit.iteration),
               std::string(hit.condition->id), replay::hitPlace(view.run.graph(), hit),
               placeOf(view.run.graph().userFrame(replay::framesOf(view.run.graph(), hit)))});
  return "\nFIRST OF EACH RANK\n\n" + table.text(2);
}

std::string iterationSpan(const CheckView& view, const replay::FoldedHit& folded) {
  const auto text = [&](core::Iteration iteration) {
    return replay::iterationText(*view.run.run, folded.hit->rank, iteration);
  };
  const core::Iteration first = folded.hit->iteration;
  if (folded.lastIteration == first.value) return text(first);
  return fmt::format("{} to {}", text(first), text(core::Iteration(folded.lastIteration)));
}

std::string hitTable(const CheckView& view, const std::vector<replay::FoldedHit>& hits) {
  Table table({"iterations", ">rank", "condition", "tensor", "measured", "line"});
  for (const replay::FoldedHit& folded : hits) {
    const Hit& hit = *folded.hit;
    table.row({iterationSpan(view, folded), std::to_string(hit.rank.value), std::string(hit.condition->id),
               replay::hitTensor(view.run.graph(), hit), replay::measuredText(hit),
               placeOf(view.run.graph().userFrame(replay::framesOf(view.run.graph(), hit)))});
  }
  return table.text(2);
}

// Grouped by condition: after a NaN everything is wrong, and nobody wants to read that.
std::string hitSummary(const CheckView& view) {
  struct Group {
    std::int64_t hits = 0;
    std::set<core::TensorId> tensors;
    const Hit* first = nullptr;
  };
  std::map<std::string, Group> groups;
  for (const Hit& hit : view.report.hits) {
    Group& group = groups[std::string(hit.condition->id)];
    ++group.hits;
    if (hit.tensor.valid()) group.tensors.insert(hit.tensor);
    if (!group.first) group.first = &hit;
  }
  Table table({"condition", ">hits", ">tensors", ">first in iteration", "first at"});
  for (const auto& [id, group] : groups)
    table.row({id, groupedNumber(group.hits), groupedNumber(static_cast<std::int64_t>(group.tensors.size())),
               replay::iterationText(*view.run.run, group.first->rank, group.first->iteration),
               replay::hitTensor(view.run.graph(), *group.first)});
  return table.text(2);
}

std::string hitsText(const CheckView& view) {
  if (view.report.hits.size() < 2 || view.detail == replay::HitDetail::kFirstOnly) return {};
  std::string text = fmt::format("\nALL {}\n\n",
                                 groupedNumber(static_cast<std::int64_t>(view.report.hits.size())) + " HITS");
  if (view.detail == replay::HitDetail::kAll)
    return text + hitTable(view, replay::foldHits(view.report.hits, view.detail));
  return text + hitSummary(view) + "  (--all lists them)\n";
}

// What the numbers of the table mean and what to do, each once; of one condition a few.
std::string hintDetails(const std::vector<replay::FoldedHit>& hints) {
  constexpr int kOfOne = 3;
  std::string text;
  std::set<std::pair<std::string_view, std::string_view>> told;  // of a condition: details, advice
  std::map<std::string_view, int> count;
  for (const replay::FoldedHit& folded : hints) {
    const Hit& hit = *folded.hit;
    const std::string_view id = hit.condition->id, advice = hit.whatNext();
    if (hit.detail.empty() || count[id] == kOfOne || !told.emplace(id, hit.detail).second) continue;
    ++count[id];
    text += "\n  " + wrapped(fmt::format("{} ({}): {}", hit.condition->title, id, hit.detail), 4) + "\n";
    if (!advice.empty() && told.emplace(id, advice).second)
      text += "    " + wrapped("advice: " + std::string(advice), 6) + "\n";
  }
  return text;
}

std::string hintsText(const CheckView& view) {
  if (view.report.hints.empty() || view.detail == replay::HitDetail::kFirstOnly) return {};
  std::vector<replay::FoldedHit> hints = replay::foldHits(view.report.hints, view.detail);
  const std::size_t all = hints.size();
  if (view.detail != replay::HitDetail::kAll) hints.resize(std::min(all, kHintLines));
  std::string text = "\nHINTS (no faults: worth a look)\n\n" + hitTable(view, hints);
  if (hints.size() < all) text += fmt::format("  … {} more (--all lists them)\n", all - hints.size());
  return text + hintDetails(hints);
}

std::string adviceToCompute(const CheckView& view) {
  const bool missing = std::ranges::any_of(view.report.notEvaluable, [](const watch::NotEvaluable& n) {
    return n.reason == "no_value" || n.reason == "thinned";
  });
  const replay::Recomputable* const source = view.run.run->recomputable();
  if (!missing || view.recomputes || !source) return {};
  const std::vector<std::int64_t> there = source->recomputableIterations();
  return there.empty() ? ""
                       : "  msdbg check --recompute computes what is missing of iterations " +
                             core::formatRanges(there) + " again\n";
}

std::string notEvaluableText(const CheckView& view) {
  struct Group {
    std::int64_t places = 0;
    std::set<core::TensorId> tensors;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const watch::NotEvaluable& n : view.report.notEvaluable) {
    Group& group = groups[{n.reason, n.condition}];
    group.places += n.count;
    if (n.tensor.valid()) group.tensors.insert(n.tensor);
  }
  if (groups.empty()) return {};
  Table table({"reason", "condition", ">places", "of"});
  for (const auto& [key, group] : groups) {
    const std::set<core::TensorId>& tensors = group.tensors;
    std::string of = tensors.empty() ? "" : replay::tensorName(view.run.graph().tensor(*tensors.begin()));
    if (tensors.size() > 1)
      of += fmt::format(" and {} more", groupedNumber(static_cast<std::int64_t>(tensors.size() - 1)));
    table.row({replay::reasonText(key.first), key.second, groupedNumber(group.places), of});
  }
  return "could not be evaluated:\n" + table.text(2) + adviceToCompute(view);
}

// Of what was held out; the means of rounds say what the loss says.
std::string metricsText(const CheckView& view) {
  constexpr std::size_t kMost = 5;
  std::string text;
  std::size_t lines = 0;
  for (const replay::MetricCourse& course : replay::metricCourses(*view.run.run))
    if (!course.metric.name.starts_with("round_") && ++lines <= kMost)
      text += core::printable(course.text()) + "\n";
  if (lines > kMost) text += fmt::format("… and {} more: msdbg info\n", lines - kMost);
  return text;
}

std::string noFaultText(const CheckView& view) {
  const std::optional<replay::LossCourse> loss = replay::lossCourseOf(*view.run.run);
  return core::printable(view.verdict.text()) + "\n" + (loss ? loss->text() + "\n" : "") + metricsText(view);
}

// How the run ended; its reason not again where the first finding has it.
std::string howItEnded(const CheckView& view) {
  const std::string text = endText(view.run), &reason = view.run.run->description().end.message;
  const bool told = view.report.first && !reason.empty() && view.report.first->detail == reason;
  return told && text.ends_with(": " + reason) ? text.substr(0, text.size() - reason.size() - 2) : text;
}

// What torch.compile made one kernel of was not looked into.
std::string compiledText(const core::Graph& graph) {
  const std::int64_t regions = replay::compiledRegions(graph);
  if (regions == 0) return "";
  return fmt::format(
      "not looked into: {} that torch.compile made, each of which is one operator here; "
      "msdbg dump --compile eager records what is in {}\n",
      counted(regions, "region"), regions == 1 ? "it" : "them");
}

// Half of the conditions are about operators: silence of a level that has none is no answer to them.
std::string withoutOperatorsText(const CheckView& view) {
  const replay::RunDescription& run = view.run.run->description();
  const std::string command = replay::deeperLook(run);
  if (view.report.first || command.empty()) return "";
  return "not looked into: operators, which level " + replay::levelWithoutOperators(run) +
         " does not record; what only they tell (losses, masks, axes, gradients that stop) is asked of\n  " +
         core::printable(command) + "\n";
}

std::string evaluatedText(const CheckView& view) {
  std::string text =
      fmt::format("\nevaluated {} by {} on {} of {} (run {})\n", counted(view.report.evaluated, "question"),
                  counted(static_cast<std::int64_t>(view.watchpoints.size()), "watchpoint"),
                  counted(static_cast<std::int64_t>(view.run.run->ranks().size()), "rank"),
                  core::printable(view.run.path), core::printable(howItEnded(view)));
  return text + compiledText(view.run.graph()) + withoutOperatorsText(view) + notEvaluableText(view);
}

}  // namespace

std::string headline(const CheckView& view) {
  if (!view.report.first) return core::printable(view.verdict.answer());
  const Hit& hit = *view.report.first;
  return fmt::format("{}: {} at {}, rank {}, iteration {}", view.verdict.found, hit.condition->id,
                     core::printable(replay::hitPlace(view.run.graph(), hit)),
                     core::printable(replay::rankText(*view.run.run, hit.rank)),
                     replay::iterationText(*view.run.run, hit.rank, hit.iteration));
}

std::string checkText(const CheckView& view) {
  std::string text = view.report.first ? firstText(view) : noFaultText(view);
  text += whyText(view);
  text += perRankText(view);
  return text + hitsText(view) + hintsText(view) + evaluatedText(view);
}

}  // namespace msdbg::app
