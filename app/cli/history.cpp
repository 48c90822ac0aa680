// msdbg history: one element of a tensor over iterations and ranks, with its gradients and the optimizer's
// states.
#include "replay/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/engine.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/step_options.h"
#include "app/cli/table.h"
#include "replay/user_steps.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;
using core::Result;

struct HistoryCommandOptions {
  std::string run, tensor, index, ranks, iterations, steps;
  bool storedOnly = false;
};

std::string columnName(const OpenedRun& run, const replay::History& history, std::size_t column) {
  const core::TensorInfo& tensor = run.graph().tensor(history.columns[column]);
  if (column == 0) return "value";
  const std::string name = tensor.alias.empty() ? tensor.name : tensor.alias;
  return name.substr(0, name.find('('));
}

bool isEmpty(const replay::HistoryRow& row) {
  return std::ranges::none_of(row.values, [](const auto& value) { return value.has_value(); });
}

bool nothing(const replay::History& history) { return std::ranges::all_of(history.rows, isEmpty); }

void printMissing(const replay::History& history) {
  for (const auto& part : history.missing)
    fmt::print("not there: iterations {}: {}\n", part.iterations.text(), core::printable(part.why));
}

void print(const OpenedRun& run, const replay::History& history, const std::string& index) {
  const core::TensorInfo& tensor = run.graph().tensor(history.columns.front());
  fmt::print("{}{}   {}   {}\n", core::printable(tensorName(tensor)), index.empty() ? "" : "[" + index + "]",
             typeText(tensor),
             core::printable(sourceLine(run.graph().userFrame(framesOf(run.graph(), tensor.id)))));
  if (nothing(history)) {
    fmt::print(
        "no value of it is stored: msdbg stats {} --tensor '{}' prints what else is known, a recording with "
        "--policy full has values\n",
        core::printable(run.path), core::printable(tensor.fullName()));
    printMissing(history);
    return;
  }
  std::vector<std::string> headers = {">iteration", ">rank"};
  for (std::size_t i = 0; i < history.columns.size(); ++i)
    headers.push_back(">" + columnName(run, history, i));
  headers.emplace_back("");
  Table table(headers);
  bool other = false;
  for (const replay::HistoryRow& row : history.rows) {
    std::vector<std::string> cells = {replay::iterationText(*run.run, row.rank, row.iteration),
                                      std::to_string(row.rank.value)};
    for (const std::optional<double>& value : row.values)
      cells.push_back(value ? core::formatShort(*value, 9) : "-");
    cells.emplace_back(row.other ? "computed, not as recorded" : row.computed ? "computed" : "");
    other = other || row.other;
    table.row(std::move(cells));
  }
  table.print();
  if (other) fmt::print("Not as recorded: msdbg replay --prove tells since where.\n");
  for (const std::string& here : history.otherHere)
    fmt::print("otherwise here: {}: bits of what was computed may be others than the training's\n",
               core::printable(here));
  printMissing(history);
}

Json historyJson(const OpenedRun& run, const replay::History& history, const std::string& index) {
  Json json = document("history");
  json["run"] = run.path;
  json["tensor"] = tensorName(run.graph().tensor(history.columns.front()));
  json["index"] = textOrNull(index);
  json["columns"] = Json::array();
  for (std::size_t i = 0; i < history.columns.size(); ++i)
    json["columns"].push_back({{"name", columnName(run, history, i)},
                               {"tensor", run.graph().tensor(history.columns[i]).fullName()}});
  json["rows"] = Json::array();
  for (const replay::HistoryRow& row : history.rows) {
    Json values = Json::array();
    for (const std::optional<double>& value : row.values) values.push_back(numberOrNull(value));
    json["rows"].push_back({{"iteration", row.iteration.value},
                            {"rank", row.rank.value},
                            {"computed", row.computed},
                            {"as_recorded", isEmpty(row) ? Json() : Json(!row.other)},  // null: no value
                            {"values", values}});
    addStep(json["rows"].back(), run, row.rank, row.iteration);
  }
  json["otherwise_here"] = history.otherHere;
  json["missing"] = Json::array();
  for (const auto& part : history.missing)
    json["missing"].push_back({{"iterations", part.iterations.text()}, {"why", part.why}});
  return json;
}

Result<int> history(HistoryCommandOptions options, const Context& context) {
  if (options.tensor.empty())
    return Error(ErrorCode::kUsage, "history: of which tensor? give --tensor NAME --index I,J");
  MSDBG_ASSIGN(const OpenedRun run, openRun(options.run));
  MSDBG_ASSIGN(const core::TensorId tensor, replay::resolveTensor(run.graph(), options.tensor));
  MSDBG_ASSIGN(const std::int64_t element, elementOf(run.graph().tensor(tensor), options.index));
  MSDBG_ASSIGN(const std::vector<core::Rank> ranks, selectedRanks(run, options.ranks));
  MSDBG_TRY(takeSteps(run, options.steps, options.iterations));
  MSDBG_ASSIGN(const core::IndexList list, selectedIterations(run, "--iterations", options.iterations));
  Result<replay::History> found = Error(ErrorCode::kInternal, "");
  {
    Progress progress;
    replay::HistoryOptions how{.cancel = context.cancel,
                               .progress = [&](std::int64_t done, std::int64_t all) {
                                 progress.line(fmt::format("iteration {} of {}", done + 1, all));
                               }};
    if (!options.storedOnly) how.computer = [&] { return context.engine.elements(*run.run, context.cancel); };
    found = replay::historyOf(*run.run, tensor, element, ranks, recordedIterations(run, ranks, list), how);
  }
  if (!found.ok()) return found.error().code() == ErrorCode::kCancelled ? cancelledError() : found.error();
  if (context.json)
    printJson(historyJson(run, *found, options.index));
  else
    print(run, *found, options.index);
  if (std::ranges::any_of(found->rows, &replay::HistoryRow::other)) return kExitHits;
  return nothing(*found) ? kExitNoAnswer : withDamage(run, kExitFine);
}

Command::Run setup(CLI::App& app, Context& context) {
  auto options = std::make_shared<HistoryCommandOptions>();
  app.add_option("RUN", options->run, "run folder (default: the newest *.msdbg here)");
  app.add_option("--tensor", options->tensor, "its name, alias or a unique end of the name")->type_name("T");
  app.add_option("--index", options->index, "the element: one number for each dimension, -1 the last")
      ->type_name("I,J,…");
  app.add_option("--ranks", options->ranks, "only these: 0,2-4")->type_name("LIST");
  app.add_option("--iterations", options->iterations, "only these: 0,2-4,100-")->type_name("LIST");
  addStepsOption(app, options->steps);
  app.add_flag("--stored", options->storedOnly, "only what is stored: compute nothing again");
  return [options, &context] { return history(*options, context); };
}

}  // namespace

Command historyCommand() {
  return {.name = "history",
          .summary = "one element over iterations: value, gradients, optimizer states",
          .examples =
              "  msdbg history --tensor fc1/weight --index 3,5\n"
              "  msdbg history --tensor conv1/bias --index 0 --iterations 100-120 --ranks 1\n"
              "  msdbg history alexnet-1.msdbg --tensor fc3/Gemm-op1 --index 0,7 --json\n"
              "What is not stored is computed again from the checkpoints.\n",
          .setup = setup};
}

}  // namespace msdbg::app
