// Parameters of conditions: numbers, a text, lists of texts. Values; pure functions; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::watch {

/// Numbers in [0, inf), [0, 100], finite, (0, inf); the name of one tensor; names and globs of several.
enum class ParameterType { kAbs, kPct, kReal, kPos, kTensor, kTensors };

using ParameterValue = std::variant<double, std::string, std::vector<std::string>>;

struct ParameterSpec {
  std::string_view name;  // "abs_mean_lt"
  ParameterType type;
  std::optional<double> defaultValue;  // of a number
  std::string_view doc;

  bool isNumber() const { return type < ParameterType::kTensor; }
  /// Whether a hit needs this one or another of its kind: a threshold that has no default.
  bool isThreshold() const { return isNumber() && !defaultValue; }
  bool isDefault(const ParameterValue& value) const {
    return defaultValue && value == ParameterValue(*defaultValue);
  }
};

using Parameters = std::map<std::string, ParameterValue, std::less<>>;  // given ones and defaults

/// nullopt where it is not given. The condition's own table says that it is a number, a text, a list.
std::optional<double> numberOf(const Parameters& parameters, std::string_view name);
std::optional<std::string> textOf(const Parameters& parameters, std::string_view name);
std::vector<std::string> listOf(const Parameters& parameters, std::string_view name);  // empty: not given
double parameterOr(const Parameters& parameters, std::string_view name, double fallback);

/// As in a watchpoint's text: "1e-09", "loss", "conv1/*|fc/weight".
std::string valueText(const ParameterValue& value);
/// Of a value's text, which may come from anybody. kUsage: no number, or outside the range (it is named); no
/// name, or an empty one in a list.
core::Result<ParameterValue> parseValue(ParameterType type, std::string_view text);
/// What can be given: "[0, 100]", "finite", "names or globs, joined by |".
std::string_view typeText(ParameterType type);
/// "NUMBER", "NAME", "NAME|…"
std::string_view placeholder(ParameterType type);

}  // namespace msdbg::watch
