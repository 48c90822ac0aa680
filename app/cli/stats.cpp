// msdbg stats: the statistics of a tensor over iterations and ranks.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/computing.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/statistics_text.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "core_engine/tensor/flags.h"
#include "replay/user_steps.h"
#include "watchpoints/conditions/targets.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

struct Place {
  core::Iteration iteration;
  core::Rank rank;
  auto operator<=>(const Place&) const = default;
};

struct Options {
  std::string run, tensor, ranks, iterations, steps;
  bool recompute = false;
};

core::Result<core::IndexList> listOf(const std::string& text, const std::string& option) {
  if (text.empty()) return core::IndexList::all();
  auto list = core::IndexList::parse(text);
  if (!list.ok()) return list.error().in(option);
  return list;
}

core::Result<std::vector<Place>> placesOf(const OpenedRun& run, const Options& options) {
  MSDBG_ASSIGN(const core::IndexList ranks, listOf(options.ranks, "--ranks"));
  MSDBG_ASSIGN(const core::IndexList iterations, listOf(options.iterations, "--iterations"));
  std::vector<Place> places;
  std::size_t all = 0;
  for (const core::Rank rank : run.run->ranks())
    for (const core::Iteration iteration : run.run->iterations(rank)) {
      ++all;
      if (ranks.contains(rank.value) && iterations.contains(iteration.value))
        places.push_back({iteration, rank});
    }
  if (places.empty() && all > 0)
    return Error(
        ErrorCode::kUsage,
        fmt::format("stats: nothing is recorded of these ranks and iterations; {} has ranks {} and {}",
                    run.path, ranksText(run), iterationsText(run, run.run->ranks().front())));
  std::ranges::sort(places);
  return places;
}

struct Row {
  const watch::StatisticsRow* row = nullptr;
  bool computed = false;  // again: it is not recorded
};

/// Where only NaN and Inf were counted, what is computed again says more, if somebody asked for that.
Row rowOf(const OpenedRun& run, const Place& place, core::TensorId id, bool recompute) {
  if (!recompute) return {run.run->flags(place.rank, place.iteration, id), false};
  replay::Recomputable* const source = run.run->recomputable();
  const watch::StatisticsRow* recorded =
      source ? source->recordedRow(place.rank, place.iteration, id) : nullptr;
  const bool whole = recorded && !core::isFlags(recorded->values);
  if (const watch::StatisticsRow* row = run.run->statistics(place.rank, place.iteration, id))
    return {row, !whole};
  return {run.run->flags(place.rank, place.iteration, id), false};
}

// Rows are printed as they are read: a long run has hundreds of thousands. False: none has statistics.
bool printRowsJson(const OpenedRun& run, core::TensorId id, const std::vector<Place>& places, bool recompute,
                   const Context& context, JsonPrinter& json) {
  const core::TensorInfo& tensor = run.graph().tensor(id);
  bool any = false;
  json.open('{');
  json.add(tensor.fullName(), "tensor");
  json.add(core::dtypeName(tensor.dtype), "dtype");
  json.add(shapeJson(tensor.shape), "shape");
  json.add(core::roleName(tensor.role), "role");
  json.open('[', "rows");
  for (const auto& [iteration, rank] : places) {
    if (context.cancel.cancelled()) break;
    const bool stored = run.run->stored(rank, iteration, id);
    const auto [row, computed] = rowOf(run, {iteration, rank}, id, recompute);
    any |= row != nullptr;
    Json line = {{"iteration", iteration.value},
                 {"rank", rank.value},
                 {"stored", stored},
                 {"computed", computed},
                 {"thinned", row ? false : run.run->thinned(rank, iteration)},
                 {"statistics", row ? statisticsJson(*row) : Json()}};
    addStep(line, run, rank, iteration);
    json.add(line);
  }
  json.close();
  json.close();
  return any;
}

// How far the tensor moved to become what it is: of a parameter or a state in the update before.
std::string changeText(const OpenedRun& run, const Place& place, const watch::StatisticsRow& row,
                       core::TensorId update) {
  if (row.change) return core::formatShort(row.change->meanAbsChange, 4);
  if (!update.valid() || place.iteration.value == 0) return "";
  const watch::StatisticsRow* made =
      run.run->statistics(place.rank, core::Iteration(place.iteration.value - 1), update);
  return made && made->change ? core::formatShort(made->change->meanAbsChange, 4) : "";
}

std::vector<std::string> cellsOf(const OpenedRun& run, const Place& place, const Row& found,
                                 core::TensorId update) {
  const watch::StatisticsRow* const row = found.row;
  std::vector<std::string> cells = {replay::iterationText(*run.run, place.rank, place.iteration),
                                    std::to_string(place.rank.value)};
  if (!row && run.run->thinned(place.rank, place.iteration)) return cells.emplace_back("thinned"), cells;
  for (std::string& cell : statisticsCells(row)) cells.push_back(std::move(cell));
  if (row) cells.push_back(changeText(run, place, *row, update));
  if (found.computed) cells.emplace_back("computed");
  return cells;
}

// Of a parameter or a state of an optimizer: what has statistics, where it has none itself.
std::string instead(const OpenedRun& run, core::TensorId id, const std::vector<Place>& places) {
  const auto hasRows = [&](core::TensorId of) {
    return std::ranges::any_of(places, [&](const Place& place) {
      return run.run->flags(place.rank, place.iteration, of) != nullptr;
    });
  };
  for (const core::TensorInfo& info : run.graph().tensors())
    if (info.updateOf == id && hasRows(info.id))
      return fmt::format(", but of what each update makes of it: msdbg stats --tensor {}",
                         core::shellQuoted(core::printable(info.fullName())));
  return "";
}

// The same as a table: its columns are as wide as the widest cell, so it is made first.
bool printRows(const OpenedRun& run, core::TensorId id, const std::vector<Place>& places, bool recompute,
               const Context& context, bool first) {
  const core::TensorInfo& tensor = run.graph().tensor(id);
  std::vector<std::string> headers = {">iteration", ">rank"};
  for (const std::string& header : statisticsHeaders()) headers.push_back(header);
  headers.push_back(">mean change");
  if (recompute) headers.emplace_back("");
  Table table(headers);
  bool any = false;
  const core::TensorId update = watch::updatesByParameter(run.graph())[id.index()];
  Progress progress;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (context.cancel.cancelled()) return any;
    progress.share("reading", static_cast<double>(i) / static_cast<double>(places.size()));
    const Place& place = places[i];
    const Row row = rowOf(run, place, id, recompute);
    any |= row.row != nullptr;
    table.row(cellsOf(run, place, row, update));
  }
  progress.clear();
  fmt::print("{}{}   {}   {}\n", first ? "" : "\n", core::printable(tensor.fullName()), typeText(tensor),
             core::printable(sourceLine(run.graph().userFrame(framesOf(run.graph(), id)))));
  if (any)
    table.print();
  else if (places.empty() || !run.run->thinned(places.front().rank, places.front().iteration))
    fmt::print(
        "no statistics of it are recorded{}; msdbg show --tensor prints hashes, and values of "
        "checkpoints and batches\n",
        instead(run, id, places));
  return any;
}

std::string adviceToCompute(const OpenedRun& run) {
  const replay::Recomputable* const source = run.run->recomputable();
  return source && !source->recomputableIterations().empty() ? "; --recompute computes them again" : "";
}

core::Result<int> stats(Options options, const Context& context) {
  const std::string name = options.tensor;
  if (name.empty())
    return Error(ErrorCode::kUsage,
                 "stats: which tensor? give --tensor NAME; msdbg info --tensors '*' lists them");
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  MSDBG_ASSIGN(const std::vector<core::TensorId> tensors, replay::resolveTensors(run.graph(), name));
  MSDBG_TRY(takeSteps(run, options.steps, options.iterations));
  MSDBG_ASSIGN(const std::vector<Place> places, placesOf(run, options));
  Computing computing(run, context);
  if (options.recompute) MSDBG_TRY(computing.helpOut());
  JsonPrinter json;
  if (context.json) {
    const Json head = document("stats");
    json.open('{');
    for (const auto& [key, value] : head.items()) json.add(value, key);
    json.add(run.path, "run");
    json.open('[', "tensors");
  }
  bool any = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (context.json)
      any |= printRowsJson(run, tensors[i], places, options.recompute, context, json);
    else
      any |= printRows(run, tensors[i], places, options.recompute, context, i == 0);
    if (context.cancel.cancelled()) break;
  }
  if (context.json) json.close(), json.close();
  if (context.cancel.cancelled()) return cancelledError();
  const int status = computing.withDifferences(withDamage(run, kExitFine));
  if (!any && status == kExitFine && !places.empty() &&
      run.run->thinned(places.front().rank, places.front().iteration))
    return run.run->missingStatistics(places.front().rank, places.front().iteration, tensors.front());
  if (!any && status == kExitFine)
    return Error(ErrorCode::kUnavailable,
                 fmt::format("{} has no statistics of {}{}", run.path, name,
                             options.recompute ? computing.whyNone() : adviceToCompute(run)));
  return status;
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--tensor", options->tensor, "its name, alias, a unique end of the name, or a glob")
      ->type_name("T");
  app.add_option("--ranks", options->ranks, "only these: 0,2-4")->type_name("LIST");
  app.add_option("--iterations", options->iterations, "only these: 0,2-4,100-")->type_name("LIST");
  addStepsOption(app, options->steps);
  app.add_flag("--recompute", options->recompute,
               "what was not recorded is computed again from the checkpoints");
  return [options, &context] { return stats(*options, context); };
}

}  // namespace

Command statsCommand() {
  return {.name = "stats",
          .summary = "the statistics of a tensor over iterations and ranks",
          .examples =
              "  msdbg stats --tensor conv3/weight\n"
              "  msdbg stats --tensor 'grad(*fc*/weight)'         several\n"
              "  msdbg stats --tensor conv3/weight --ranks 0 --iterations 90-110\n"
              "  msdbg stats alexnet-1.msdbg --tensor conv3/Conv-op1 --json\n",
          .setup = setup};
}

}  // namespace msdbg::app
