// msdbg stats: the statistics of a tensor over iterations and ranks.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/progress.h"
#include "app/cli/run_access.h"
#include "app/cli/statistics_text.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

using core::Error;
using core::ErrorCode;

struct Row {
  core::Rank rank;
  core::Iteration iteration;
  std::optional<watch::StatisticsRow> statistics;
};

std::vector<Row> rowsOf(const OpenedRun& run, core::TensorId tensor, const Context& context) {
  std::vector<Row> rows;
  for (const core::Rank rank : run.run->ranks()) {
    for (const core::Iteration iteration : run.run->iterations(rank)) {
      if (context.cancel.cancelled()) return rows;
      const watch::StatisticsRow* row = run.run->statistics(rank, iteration, tensor);
      rows.push_back({rank, iteration, row ? std::optional(*row) : std::nullopt});
    }
  }
  std::ranges::stable_sort(rows, {}, &Row::iteration);
  return rows;
}

Json rowsJson(const OpenedRun& run, core::TensorId id, const std::vector<Row>& rows) {
  const core::TensorInfo& tensor = run.graph().tensor(id);
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back({{"iteration", row.iteration.value},
                    {"rank", row.rank.value},
                    {"stored", run.run->stored(row.rank, row.iteration, id)},
                    {"statistics", row.statistics ? statisticsJson(*row.statistics) : Json()}});
  return {{"tensor", tensor.fullName()},
          {"dtype", core::dtypeName(tensor.dtype)},
          {"shape", shapeJson(tensor.shape)},
          {"role", core::roleName(tensor.role)},
          {"rows", list}};
}

void printRows(const OpenedRun& run, core::TensorId id, const std::vector<Row>& rows) {
  const core::TensorInfo& tensor = run.graph().tensor(id);
  fmt::print("{}   {}   {}\n", core::printable(tensor.fullName()), typeText(tensor),
             core::printable(sourceLine(run.graph().userFrame(framesOf(run.graph(), id)))));
  if (std::ranges::none_of(rows, [](const Row& row) { return row.statistics.has_value(); })) {
    fmt::print(
        "no statistics of it are recorded; msdbg show --tensor prints hashes, and values of checkpoints and "
        "batches\n");
    return;
  }
  std::vector<std::string> headers = {">iteration", ">rank"};
  for (const std::string& header : statisticsHeaders()) headers.push_back(header);
  headers.push_back(">mean change");
  Table table(headers);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.iteration.value), std::to_string(row.rank.value)};
    for (const std::string& cell : statisticsCells(row.statistics ? &*row.statistics : nullptr))
      cells.push_back(cell);
    if (row.statistics && row.statistics->change)
      cells.push_back(fmt::format("{:.4g}", row.statistics->change->meanAbsChange));
    table.row(cells);
  }
  fmt::print("{}", table.text());
}

core::Result<int> stats(const std::string& path, const std::string& name, const Context& context) {
  if (name.empty())
    return Error(ErrorCode::kUsage,
                 "stats: which tensor? give --tensor NAME; msdbg info --tensors '*' lists them");
  MSDBG_ASSIGN(const OpenedRun run, openRun(path));
  MSDBG_ASSIGN(const std::vector<core::TensorId> tensors, replay::resolveTensors(run.graph(), name));
  Json json = document("stats");
  json["run"] = run.path;
  json["tensors"] = Json::array();
  bool any = false;
  Progress progress;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    progress.share("reading", static_cast<double>(i) / static_cast<double>(tensors.size()));
    const std::vector<Row> rows = rowsOf(run, tensors[i], context);
    if (context.cancel.cancelled()) return cancelledError();
    for (const Row& row : rows) any |= row.statistics.has_value();
    progress.clear();
    if (context.json)
      json["tensors"].push_back(rowsJson(run, tensors[i], rows));
    else
      fmt::print("{}", i ? "\n" : ""), printRows(run, tensors[i], rows);
  }
  if (context.json) printJson(json);
  const int status = withDamage(run, kExitFine);
  if (!any && status == kExitFine)
    return Error(ErrorCode::kUnavailable, fmt::format("{} has no statistics of {}", run.path, name));
  return status;
}

Command::Run setup(CLI::App& options, Context& context) {
  auto path = std::make_shared<std::string>(), tensor = std::make_shared<std::string>();
  options.add_option("RUN", *path, "run folder (default: the newest *.msdbg here)");
  options.add_option("--tensor", *tensor, "its name, alias, a unique end of the name, or a glob")
      ->type_name("T");
  return [path, tensor, &context] { return stats(*path, *tensor, context); };
}

}  // namespace

Command statsCommand() {
  return {.name = "stats",
          .summary = "the statistics of a tensor over iterations and ranks",
          .examples =
              "  msdbg stats --tensor conv3/weight\n"
              "  msdbg stats --tensor 'grad(*fc*/weight)'         several\n"
              "  msdbg stats alexnet-1.msdbg --tensor conv3/Conv-op1 --json\n",
          .setup = setup};
}

}  // namespace msdbg::app
