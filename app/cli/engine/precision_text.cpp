// A precision bisect for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/engine/precision.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "core_engine/tensor/index_text.h"

namespace msdbg::app {
namespace {

constexpr std::size_t kShown = 10;

using Rows = std::vector<replay::PrecisionRow>;
using Places = std::vector<std::size_t>;

std::string kindsText(const replay::PrecisionRow& row) {
  std::vector<std::string> names;
  if (row.local)
    for (const replay::RoundingKind kind : row.local->kinds)
      names.emplace_back(replay::roundingKindName(kind));
  return core::join(names, ", ");
}

std::string short3(double value) { return core::formatShort(value, 3); }

void printRows(const OpenedRun& run, const Rows& rows, std::span<const std::size_t> places) {
  Table table({"tensor", ">rank", ">local", ">accumulated", ">amplified", "kind", "line"});
  for (const std::size_t place : places) {
    const replay::PrecisionRow& row = rows[place];
    const auto& all = row.accumulated;
    table.row({tensorName(run.graph().tensor(row.tensor)), std::to_string(row.rank.value),
               row.local ? short3(row.local->units) : "-", all ? short3(all->relative) : "-",
               all && all->amplification ? short3(*all->amplification) : "-", kindsText(row),
               sourceLine(run.graph().userFrame(framesOf(run.graph(), row.tensor)))});
  }
  fmt::print("{}", table.text(2));
}

void printWorst(const OpenedRun& run, const replay::PrecisionRow& row) {
  const core::TensorInfo& info = run.graph().tensor(row.tensor);
  const replay::LocalError& local = *row.local;
  const core::Shape& shape = info.shape;
  fmt::print("\nLARGEST LOCAL ERROR  {}\n", core::printable(tensorName(info)));
  fmt::print("  {} units of eps times the sum of |terms|; healthy nodes stay below {}\n", short3(local.units),
             short3(replay::kSuspiciousUnits));
  fmt::print("  element [{}]: {} {}, in float64 {}, sum of |terms| {}\n",
             core::indexText(shape, local.element), row.computed ? "computed again" : "recorded",
             core::formatShort(local.recorded, 9), core::formatShort(local.exact, 9), short3(local.terms));
}

// The first node that made much of its inputs' error, where something loses its digits: no node's fault, but
// often what somebody looks for.
void printCancelled(const OpenedRun& run, const replay::Precision& precision) {
  constexpr double kLost = 0.01, kAmplified = 1000;  // chosen by eye: a healthy gpt has up to 264
  const auto loses = [](const replay::PrecisionRow& row) {
    return row.accumulated && row.accumulated->relative > kLost &&
           row.accumulated->amplification.value_or(0) > kAmplified;
  };
  const auto row = std::ranges::find_if(precision.rows, loses);
  if (row == precision.rows.end()) return;
  const core::Graph& graph = run.graph();
  fmt::print("digits are lost at {}: {} off, {} times what its inputs are{}   {}\n",
             core::printable(tensorName(graph.tensor(row->tensor))), short3(row->accumulated->relative),
             short3(*row->accumulated->amplification),
             row->local && std::ranges::count(row->local->kinds, replay::RoundingKind::kCancellation) > 0
                 ? " (cancellation)"
                 : "",
             core::printable(sourceLine(graph.userFrame(framesOf(graph, row->tensor)))));
}

Json rowJson(const OpenedRun& run, const replay::PrecisionRow& row) {
  const core::Graph& graph = run.graph();
  Json json = {{"tensor", graph.tensor(row.tensor).fullName()},
               {"rank", row.rank.value},
               {"order", row.order},
               {"suspicious", row.suspicious()},
               {"computed", row.computed},
               {"local", nullptr},
               {"accumulated", nullptr},
               {"kinds", Json::array()},
               {"source", sourceJson(graph, framesOf(graph, row.tensor))}};
  if (const auto& local = row.local) {
    json["local"] = {{"units", number(local->units)},
                     {"element", local->element},
                     {"recorded", number(local->recorded)},
                     {"float64", number(local->exact)},
                     {"sum_of_terms", number(local->terms)}};
    for (const replay::RoundingKind kind : local->kinds)
      json["kinds"].push_back(replay::roundingKindName(kind));
  }
  if (const auto& all = row.accumulated)
    json["accumulated"] = {{"relative", number(all->relative)},
                           {"largest", number(all->largest)},
                           {"amplification", numberOrNull(all->amplification)}};
  return json;
}

}  // namespace

void printPrecision(const OpenedRun& run, core::Iteration iteration, const replay::Precision& precision,
                    bool all) {
  const Rows& rows = precision.rows;
  const Places local = replay::rankedByLocal(rows), accumulated = replay::rankedByAccumulated(rows);
  const auto suspicious = std::ranges::count_if(rows, &replay::PrecisionRow::suspicious);
  fmt::print("{}: iteration {} in float64: {} compared; {}\n", core::printable(run.path), iteration.value,
             counted(static_cast<std::int64_t>(rows.size()), "tensor"),
             suspicious == 0 ? std::string("no local error that a healthy node does not make")
                             : counted(suspicious, "suspicious local error"));
  printCancelled(run, precision);
  if (!local.empty()) printWorst(run, rows[local.front()]);
  const auto shown = [&](const Places& places) {
    return std::span(places).first(all ? places.size() : std::min(kShown, places.size()));
  };
  fmt::print("\nBY LOCAL ERROR  made by the node itself, from its recorded inputs\n");
  printRows(run, rows, shown(local));
  if (!all) {
    fmt::print("\nBY ACCUMULATED ERROR  relative, against float64 throughout\n");
    printRows(run, rows, shown(accumulated));
  }
  for (const replay::Precision::Unjudged& each : precision.unjudged)
    fmt::print("  not compared: {}, the first {}: {}\n", counted(each.tensors, "tensor"),
               core::printable(tensorName(run.graph().tensor(each.first))), core::printable(each.why));
  const auto computed = std::ranges::count_if(rows, &replay::PrecisionRow::computed);
  if (computed > 0)
    fmt::print(
        "  {} not stored and computed again, with the recorded hash; what a wrong kernel or memory did "
        "there\n  msdbg replay --prove finds\n",
        computed == 1 ? "1 was" : fmt::format("{} were", computed));
}

Json precisionJson(const OpenedRun& run, core::Iteration iteration, const replay::Precision& precision) {
  Json json = document("precision");
  json["run"] = run.path;
  json["iteration"] = iteration.value;
  json["suspicious"] = precision.suspicious();
  json["suspicious_above"] = replay::kSuspiciousUnits;
  json["rows"] = Json::array();
  for (const replay::PrecisionRow& row : precision.rows) json["rows"].push_back(rowJson(run, row));
  json["by_local"] = replay::rankedByLocal(precision.rows);
  json["by_accumulated"] = replay::rankedByAccumulated(precision.rows);
  json["not_as_recorded"] = Json::array();
  for (const replay::Mismatch& each : precision.differences)
    json["not_as_recorded"].push_back({{"tensor", run.graph().tensor(each.tensor).fullName()},
                                       {"rank", each.rank.value},
                                       {"iteration", each.iteration.value}});
  json["not_compared"] = Json::array();
  for (const replay::Precision::Unjudged& each : precision.unjudged)
    json["not_compared"].push_back(
        {{"why", each.why}, {"tensors", each.tensors}, {"first", run.graph().tensor(each.first).fullName()}});
  return json;
}

}  // namespace msdbg::app
