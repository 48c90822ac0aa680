// JSON helpers of dump: reading is forgiving about keys that are not there and strict about their types. A
// field of the wrong type throws; parseObject() and the callers' guarded() turn that into an Error.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core_engine/base/result.h"
#include "dump/run_info.h"

namespace msdbg::dump {

using Json = nlohmann::ordered_json;

inline std::string jsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

inline core::Error notJson(const std::exception& problem) {
  return {core::ErrorCode::kDamaged, std::string("not the JSON that was expected: ") + problem.what()};
}

/// Runs f over the parsed text; exceptions of the JSON library end here.
template <typename F>
auto guarded(std::string_view text, F&& f) -> core::Result<decltype(f(Json()))> {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) return core::Error(core::ErrorCode::kDamaged, "not a JSON object");
    return f(json);
  } catch (const std::exception& problem) {
    return notJson(problem);
  }
}

template <typename T>
T field(const Json& json, const char* key, T fallback) {
  const auto at = json.find(key);
  return at == json.end() || at->is_null() ? fallback : at->get<T>();
}

template <typename T>
std::optional<T> optionalField(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::nullopt;
  return at->get<T>();
}

Json endToJson(const RunEnd& end);
RunEnd endFromJson(const Json& json);

}  // namespace msdbg::dump
