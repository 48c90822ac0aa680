#include "dump/python/record/attributes.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace msdbg::dump {
namespace {

using Json = nlohmann::json;

core::AttributeValue listOf(const Json& list) {
  if (std::ranges::all_of(list, &Json::is_number_integer)) return list.get<std::vector<std::int64_t>>();
  if (std::ranges::all_of(list, &Json::is_number)) return list.get<std::vector<double>>();
  if (std::ranges::all_of(list, &Json::is_string)) return list.get<std::vector<std::string>>();
  return list.dump();
}

// {"float": "-inf"}
std::optional<double> notFinite(const Json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains("float")) return std::nullopt;
  const std::string text = value["float"].is_string() ? value["float"].get<std::string>() : "";
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return text == "nan" ? std::optional(std::numeric_limits<double>::quiet_NaN()) : std::nullopt;
}

core::AttributeValue valueOf(const Json& value) {
  if (const auto number = notFinite(value)) return *number;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.is_array() ? listOf(value) : value.dump();
}

}  // namespace

core::Result<core::Attributes> attributesFromJson(std::string_view json) {
  core::Attributes attributes;
  if (json.empty()) return attributes;
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object())
    return core::Error(core::ErrorCode::kUsage, "attributes: not a JSON object: " + std::string(json));
  for (const auto& [name, value] : object.items()) attributes.emplace(name, valueOf(value));
  return attributes;
}

}  // namespace msdbg::dump
