#include "app/cli/json_output.h"

#include <fmt/format.h>

#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/tensor/flags.h"

namespace msdbg::app {

Json document(std::string_view name) { return {{"schema", std::string(name) + "/1"}}; }

Json number(double value) {
  if (std::isfinite(value)) return value;
  return core::formatDouble(value);
}

Json numberOrNull(const std::optional<double>& value) { return value ? number(*value) : Json(); }
Json textOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

namespace {

// ASCII: DEL and the C1 controls, which JSON allows in texts, would reach a terminal otherwise.
std::string textOf(const Json& json, int indent) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

void printJson(const Json& json) { fmt::print("{}\n", textOf(json, 2)); }

void printJsonLine(const Json& json) {
  fmt::print("{}\n", textOf(json, -1));
  fflush(stdout);
}

void JsonPrinter::begin(std::string_view key) {
  if (m_levels.empty()) return;
  fmt::print("{}\n{}", m_levels.back().empty ? "" : ",", margin());
  m_levels.back().empty = false;
  if (!key.empty()) fmt::print("{}: ", textOf(key, -1));
}

void JsonPrinter::open(char bracket, std::string_view key) {
  begin(key);
  fmt::print("{}", bracket);
  m_levels.push_back({bracket == '{' ? '}' : ']'});
}

void JsonPrinter::add(const Json& value, std::string_view key) {
  begin(key);
  std::string text = textOf(value, 2);
  const std::string line = "\n" + margin();
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + line.size()))
    text.replace(at, 1, line);
  fmt::print("{}", text);
}

void JsonPrinter::close() {
  const Level level = m_levels.back();
  m_levels.pop_back();
  if (!level.empty) fmt::print("\n{}", margin());
  fmt::print("{}{}", level.closing, m_levels.empty() ? "\n" : "");
}

Json frameJson(const core::Frame& frame) {
  return {{"file", frame.file},
          {"line", frame.line},
          {"function", frame.function},
          {"code", frame.code},
          {"engine", frame.engine}};
}

Json framesJson(const core::Graph& graph, std::span<const core::FrameId> frames) {
  Json list = Json::array();
  for (const core::FrameId id : frames) list.push_back(frameJson(graph.frame(id)));
  return list;
}

Json sourceJson(const core::Graph& graph, std::span<const core::FrameId> frames) {
  const core::Frame* frame = graph.userFrame(frames);
  if (!frame) return {};
  return {{"file", frame->file}, {"line", frame->line}, {"function", frame->function}, {"code", frame->code}};
}

Json shapeJson(const core::Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t dim : shape.dims()) list.push_back(dim);
  return list;
}

Json statisticsJson(const watch::StatisticsRow& row) {
  const core::TensorStatistics& s = row.values;
  Json json = {{"count", s.count},       {"nan", s.nan},           {"pos_inf", s.posInf},
               {"neg_inf", s.negInf},    {"inf", s.inf()},         {"zero", s.zero},
               {"negative", s.negative}, {"positive", s.positive}, {"min", number(s.min)},
               {"max", number(s.max)},   {"mean", number(s.mean)}, {"mean_abs", number(s.meanAbs)},
               {"std", number(s.std)},   {"l1", number(s.l1)},     {"l2", number(s.l2)},
               {"hash", s.hash.text()}};
  if (core::isFlags(s))  // nobody looked at the rest
    for (const char* key :
         {"zero", "negative", "positive", "min", "max", "mean", "mean_abs", "std", "l1", "l2", "hash"})
      json[key] = nullptr;
  if (row.change)
    json["change"] = {{"mean_abs", number(row.change->meanAbsChange)},
                      {"max_abs", number(row.change->maxAbsChange)},
                      {"mean_abs_previous", number(row.change->meanAbsPrevious)},
                      {"outside_tolerance", row.change->outsideTolerance},
                      {"skipped", row.change->skipped}};
  if (row.activation)
    json["activation"] = {{"share_in_range", number(row.activation->shareInRange)},
                          {"share_dead_units", number(row.activation->shareDeadUnits)}};
  return json;
}

Json endJson(const replay::RunEnd& end) {
  Json json = {{"state", end.state}, {"message", textOrNull(end.message)}};
  json["exit_status"] = end.exitStatus ? Json(*end.exitStatus) : Json();
  json["signal"] = end.signal ? Json(*end.signal) : Json();
  json["rank"] = end.rank ? Json(*end.rank) : Json();
  json["node"] = textOrNull(end.node);
  json["iteration"] = end.iteration ? Json(*end.iteration) : Json();
  json["condition"] = textOrNull(end.condition);
  json["tensor"] = textOrNull(end.tensor);
  return json;
}

Json damageJson(const std::vector<replay::Damage>& damage) {
  Json list = Json::array();
  for (const replay::Damage& d : damage)
    list.push_back({{"where", d.where},
                    {"what", d.what},
                    {"rank", d.rank.valid() ? Json(d.rank.value) : Json()},
                    {"iterations", d.iterations.numbers()}});
  return list;
}

}  // namespace msdbg::app
