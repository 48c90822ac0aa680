#include "watchpoints/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core_engine/base/text.h"

namespace msdbg::watch {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

template <typename T>
const T* given(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? nullptr : std::get_if<T>(&found->second);
}

bool inRange(ParameterType type, double value) {
  if (!std::isfinite(value)) return false;
  if (type == ParameterType::kAbs) return value >= 0;
  if (type == ParameterType::kPct) return value >= 0 && value <= 100;
  return type != ParameterType::kPos || value > 0;
}

Result<ParameterValue> parseNumber(ParameterType type, std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return Error(ErrorCode::kUsage, "'" + std::string(text) + "' is not a number");
  if (!inRange(type, value))
    return Error(ErrorCode::kUsage, core::formatDouble(value) +
                                        (type == ParameterType::kReal ? " is not " : " is outside ") +
                                        std::string(typeText(type)));
  return ParameterValue(value);
}

}  // namespace

std::optional<double> numberOf(const Parameters& parameters, std::string_view name) {
  const double* number = given<double>(parameters, name);
  return number ? std::optional(*number) : std::nullopt;
}

std::optional<std::string> textOf(const Parameters& parameters, std::string_view name) {
  const std::string* text = given<std::string>(parameters, name);
  return text ? std::optional(*text) : std::nullopt;
}

std::vector<std::string> listOf(const Parameters& parameters, std::string_view name) {
  const auto* list = given<std::vector<std::string>>(parameters, name);
  return list ? *list : std::vector<std::string>();
}

double parameterOr(const Parameters& parameters, std::string_view name, double fallback) {
  return numberOf(parameters, name).value_or(fallback);
}

std::string valueText(const ParameterValue& value) {
  if (const double* number = std::get_if<double>(&value)) return core::formatDouble(*number);
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  return core::join(std::get<std::vector<std::string>>(value), "|");
}

Result<ParameterValue> parseValue(ParameterType type, std::string_view text) {
  if (type < ParameterType::kTensor) return parseNumber(type, text);
  std::vector<std::string> names = core::split(text, '|');
  if (std::ranges::any_of(names, &std::string::empty) || names.empty())
    return Error(ErrorCode::kUsage,
                 "'" + std::string(text) + "' lacks a name; it takes " + std::string(typeText(type)));
  if (type == ParameterType::kTensors) return ParameterValue(std::move(names));
  if (names.size() > 1 || core::isGlob(text))
    return Error(ErrorCode::kUsage, "'" + std::string(text) + "' is not one name");
  return ParameterValue(std::string(text));
}

std::string_view typeText(ParameterType type) {
  switch (type) {
    case ParameterType::kAbs:
      return "[0, inf)";
    case ParameterType::kPct:
      return "[0, 100]";
    case ParameterType::kPos:
      return "(0, inf)";
    case ParameterType::kTensor:
      return "the name of a tensor";
    case ParameterType::kTensors:
      return "names or globs, joined by |";
    case ParameterType::kReal:
      break;
  }
  return "finite";
}

std::string_view placeholder(ParameterType type) {
  if (type == ParameterType::kTensors) return "NAME|…";
  return type == ParameterType::kTensor ? "NAME" : "NUMBER";
}

}  // namespace msdbg::watch
