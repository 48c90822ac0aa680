// JSON helpers of dump: reading is forgiving about keys that are not there and strict about their types. A
// field of the wrong type throws; guarded() turns that into an Error. Texts are untrusted: how deep they nest
// is looked at before anything is built of them (destroying and copying is recursive), and a whole number
// must be one, within its type.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core_engine/base/result.h"
#include "dump/run_info.h"

namespace msdbg::dump {

using Json = nlohmann::ordered_json;

inline std::string jsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// What the JSON library says, without its own numbering.
std::string plainText(const std::exception& problem);
/// Where the text stops being JSON, and what stands there: "line 3, column 7: 'x' is not expected here".
std::string breakText(std::string_view text, const Json::parse_error& problem);

inline core::Error notJson(const std::string& what) {
  return {core::ErrorCode::kDamaged, "not the JSON that was expected: " + what};
}

/// Whether brackets nest deeper than anything that msdbg writes. A bracket in a string counts for what it
/// is.
inline bool tooDeep(std::string_view text) {
  constexpr int kDeepest = 100;
  int depth = 0;
  bool inString = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > kDeepest)
      return true;
    else if (!inString && (c == ']' || c == '}'))
      --depth;
  }
  return false;
}

/// Runs f over the parsed text; exceptions of the JSON library end here.
template <typename F>
auto guarded(std::string_view text, F&& f) -> core::Result<decltype(f(Json()))> {
  if (tooDeep(text)) return core::Error(core::ErrorCode::kDamaged, "nested too deeply");
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) return core::Error(core::ErrorCode::kDamaged, "not a JSON object");
    return f(json);
  } catch (const Json::parse_error& problem) {
    return notJson(breakText(text, problem));
  } catch (const std::exception& problem) {
    return notJson(plainText(problem));
  }
}

/// The value as a T. Throws where it is not one: a fraction or a number out of range is no integer.
template <typename T>
T as(const Json& json) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (!json.is_number_integer()) throw std::runtime_error("a whole number is expected");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw std::runtime_error("a number is out of range");
  }
  return json.get<T>();
}

/// The value of a key, which the exception names.
template <typename T>
T valueOf(const Json& json, const char* key) {
  try {
    return as<T>(json);
  } catch (const std::exception& problem) {
    throw std::runtime_error(std::string(key) + ": " + plainText(problem));
  }
}

template <typename T>
T field(const Json& json, const char* key, T fallback) {
  const auto at = json.find(key);
  return at == json.end() || at->is_null() ? fallback : valueOf<T>(*at, key);
}

template <typename T>
std::optional<T> optionalField(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return std::nullopt;
  return valueOf<T>(*at, key);
}

Json endToJson(const RunEnd& end);
RunEnd endFromJson(const Json& json);

}  // namespace msdbg::dump
