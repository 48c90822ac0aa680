// What the JSON documents of all commands have in common. Keys keep the order in which they are added;
// non-finite numbers are strings; every document starts with its schema. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core_engine/graph/graph.h"
#include "replay/run_types.h"
#include "watchpoints/source.h"

namespace msdbg::app {

using Json = nlohmann::ordered_json;

/// {"schema":"<name>/1"}
Json document(std::string_view name);
Json number(double value);  // "nan", "inf", "-inf" where JSON has no number
Json numberOrNull(const std::optional<double>& value);
Json textOrNull(std::string_view text);  // "" is null
void printJson(const Json& json);        // indented
void printJsonLine(const Json& json);    // one line, for streams

/// Prints a document piece by piece, as printJson() prints it whole: for lists that are too long to hold.
class JsonPrinter {
 public:
  /// '{' or '['. The key is that of an object's member; of a list's it is empty.
  void open(char bracket, std::string_view key = {});
  void add(const Json& value, std::string_view key = {});
  void close();

 private:
  struct Level {
    char closing;
    bool empty = true;
  };
  void begin(std::string_view key);
  std::string margin() const { return std::string(2 * m_levels.size(), ' '); }
  std::vector<Level> m_levels;
};

Json frameJson(const core::Frame& frame);
Json framesJson(const core::Graph& graph, std::span<const core::FrameId> frames);
Json sourceJson(const core::Graph& graph,
                std::span<const core::FrameId> frames);  // the user's frame, or null
Json shapeJson(const core::Shape& shape);
Json statisticsJson(const watch::StatisticsRow& row);
Json endJson(const replay::RunEnd& end);
Json damageJson(const std::vector<replay::Damage>& damage);

}  // namespace msdbg::app
