// Watchpoints as text: `gradient_vanishing:abs_mean_lt=1e-9`.
#include <algorithm>

#include "core_engine/base/text.h"
#include "watchpoints/condition.h"

namespace msdbg::watch {

using core::Error;
using core::ErrorCode;
using core::Result;

namespace {

template <typename Range, typename Projection>
std::vector<std::string> namesOf(const Range& range, Projection projection) {
  std::vector<std::string> names;
  for (const auto& item : range) names.emplace_back(std::invoke(projection, item));
  return names;
}

std::string thresholdNames(const ConditionDef& def) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : def.parameters)
    if (spec.isThreshold()) names.emplace_back(spec.name);
  return core::join(names, ", ");
}

/// Adds one `param=value`.
core::Status addParameter(const ConditionDef& def, std::string_view text, Parameters& given) {
  const std::string where = std::string(def.id) + ": ";
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto spec = std::ranges::find(def.parameters, name, &ParameterSpec::name);
  if (spec == def.parameters.end()) {
    const std::vector<std::string> names = namesOf(def.parameters, &ParameterSpec::name);
    const std::string choices = names.empty() ? "it takes none" : "it takes " + core::join(names, ", ");
    return Error(ErrorCode::kNotFound,
                 where + "no parameter '" + name + "'" + core::didYouMean(name, names) + "; " + choices);
  }
  if (equals == std::string_view::npos)
    return Error(ErrorCode::kUsage, where + name + " needs a value: " + name + "=" +
                                        std::string(placeholder(spec->type)) + ", " +
                                        std::string(typeText(spec->type)));
  Result<ParameterValue> value = parseValue(spec->type, text.substr(equals + 1));
  if (!value) return value.error().in(where + name);
  if (!given.emplace(name, std::move(*value)).second)
    return Error(ErrorCode::kUsage, where + name + " is given twice");
  return core::Ok{};
}

core::Status addParameters(const ConditionDef& def, std::string_view text, Parameters& parameters) {
  for (const std::string& part : core::split(text, ',')) MSDBG_TRY(addParameter(def, part, parameters));
  return core::Ok{};
}

bool lacksThreshold(const ConditionDef& def, const Parameters& given) {
  return def.needsParameter && std::ranges::none_of(def.parameters, [&](const ParameterSpec& spec) {
           return spec.isThreshold() && given.contains(spec.name);
         });
}

Result<Watchpoint> recommendedOf(const ConditionDef& def) {
  for (Watchpoint& watchpoint : recommendedSet())
    if (watchpoint.condition == &def) return std::move(watchpoint);
  return Error(ErrorCode::kUsage, std::string(def.id) + " is not in the recommended set");
}

}  // namespace

Result<Watchpoint> parseWatchpoint(std::string_view text) {
  constexpr std::size_t kLongest = 16384;  // lists of names are long, and no text is longer by intent
  if (text.size() > kLongest)
    return Error(ErrorCode::kUsage, "a watchpoint of " + std::to_string(text.size()) + " characters (" +
                                        std::string(text.substr(0, 40)) + "…): there are at most " +
                                        std::to_string(kLongest));
  const std::size_t colon = text.find(':');
  const std::string id(text.substr(0, colon));
  Watchpoint watchpoint;
  watchpoint.condition = findCondition(id);
  if (!watchpoint.condition) {
    const std::vector<std::string> ids = namesOf(allConditions(), &ConditionDef::id);
    return Error(ErrorCode::kNotFound,
                 "no condition '" + id + "'" + core::didYouMean(id, ids) + "; `msdbg conditions` lists them");
  }
  const ConditionDef& def = *watchpoint.condition;
  if (colon != std::string_view::npos && text.substr(colon + 1) == "recommended") return recommendedOf(def);
  if (colon != std::string_view::npos)
    MSDBG_TRY(addParameters(def, text.substr(colon + 1), watchpoint.parameters));
  if (lacksThreshold(def, watchpoint.parameters))
    return Error(ErrorCode::kUsage, id + " needs at least one of " + thresholdNames(def) + ", as in -w " +
                                        id + ":" + std::string(def.parameters.front().name) +
                                        "=NUMBER or -w " + id + ":recommended");
  for (const ParameterSpec& spec : def.parameters)
    if (spec.defaultValue) watchpoint.parameters.emplace(spec.name, *spec.defaultValue);
  if (const std::string wrong = def.validate ? def.validate(watchpoint.parameters) : ""; !wrong.empty())
    return Error(ErrorCode::kUsage, id + ": " + wrong);
  return watchpoint;
}

std::string Watchpoint::text() const {
  std::string text(condition->id);
  char separator = ':';
  for (const ParameterSpec& spec : condition->parameters) {
    const auto given = parameters.find(spec.name);
    if (given == parameters.end() || spec.isDefault(given->second)) continue;
    text += separator + std::string(spec.name) + "=" + valueText(given->second);
    separator = ',';
  }
  return text;
}

}  // namespace msdbg::watch
