// msdbg conditions: what `msdbg check -w CONDITION` can look for.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "watchpoints/condition.h"

namespace msdbg::app {
namespace {

std::string_view targetText(watch::Target target) {
  switch (target) {
    case watch::Target::kTensor:
      return "tensor";
    case watch::Target::kWeight:
      return "weight";
    case watch::Target::kGradient:
      return "gradient";
    case watch::Target::kActivation:
      return "activation";
    case watch::Target::kLoss:
      return "loss";
    case watch::Target::kRun:
      return "run";
    case watch::Target::kCollective:
      break;
  }
  return "collective";
}

std::string_view severityText(watch::Severity severity) {
  return severity == watch::Severity::kFault ? "fault" : "hint";
}

// How the recommended set uses the condition; several uses are possible.
std::vector<std::string> recommended(const watch::ConditionDef& condition) {
  std::vector<std::string> texts;
  for (const watch::Watchpoint& w : watch::recommendedSet())
    if (w.condition == &condition) texts.push_back(w.text());
  return texts;
}

Json conditionJson(const watch::ConditionDef& condition) {
  Json parameters = Json::array();
  for (const watch::ParameterSpec& p : condition.parameters)
    parameters.push_back({{"name", p.name},
                          {"range", watch::typeText(p.type)},
                          {"default", numberOrNull(p.defaultValue)},
                          {"doc", p.doc}});
  return {{"id", condition.id},
          {"title", condition.title},
          {"severity", severityText(condition.severity)},
          {"target", targetText(condition.target)},
          {"parameters", parameters},
          {"needs_parameter", condition.needsParameter},
          {"needs_values", condition.needsValues},
          {"needs_previous", condition.needsPrevious},
          {"needs_all_ranks", condition.needsAllRanks},
          {"recommended", recommended(condition)},
          {"doc", condition.doc},
          {"advice", condition.advice}};
}

std::string parameterText(const watch::ConditionDef& condition) {
  std::vector<std::string> texts;
  for (const watch::ParameterSpec& p : condition.parameters)
    texts.push_back(std::string(p.name) + (p.defaultValue ? "=" + core::formatShort(*p.defaultValue) : ""));
  return core::join(texts, ", ");
}

// "yes", with the parameters whose values there are not the defaults: "yes, abs_mean_lt=1e-09".
std::string recommendedText(const watch::ConditionDef& condition) {
  std::string text;
  for (const std::string& use : recommended(condition)) {
    const std::size_t colon = use.find(':');
    text += (text.empty() ? "yes" : "") + (colon == std::string::npos ? "" : ", " + use.substr(colon + 1));
  }
  return text;
}

void printTable() {
  Table table({"condition", "severity", "target", "recommended", "parameters = default"});
  for (const watch::ConditionDef& c : watch::allConditions())
    table.row({std::string(c.id), std::string(severityText(c.severity)), std::string(targetText(c.target)),
               recommendedText(c), parameterText(c)});
  fmt::print("{}\nWithout -w, check uses the recommended ones. msdbg conditions NAME explains one.\n",
             table.text());
}

void explain(const watch::ConditionDef& c) {
  const std::string_view target = targetText(c.target);
  fmt::print("{} ({} on {} {}): {}\n\n  {}\n\n  advice  {}\n", c.id, severityText(c.severity),
             target.starts_with('a') ? "an" : "a", target, c.title, wrapped(std::string(c.doc), 2),
             wrapped(std::string(c.advice), 10));
  Table table({"parameter", "range", ">default", "meaning"});
  for (const watch::ParameterSpec& p : c.parameters)
    table.row({std::string(p.name), std::string(watch::typeText(p.type)),
               p.defaultValue ? core::formatShort(*p.defaultValue) : "", std::string(p.doc)});
  if (!table.empty()) fmt::print("\n{}", table.text(2));
  for (const std::string& use : recommended(c)) fmt::print("\n  recommended set: {}\n", use);
}

core::Error unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const watch::ConditionDef& c : watch::allConditions()) names.emplace_back(c.id);
  const std::string near = core::didYouMean(name, names);
  return {core::ErrorCode::kNotFound,
          "there is no condition '" + name + "'" + (near.empty() ? "; msdbg conditions lists them" : near)};
}

core::Result<int> conditions(const std::string& name, const Context& context) {
  const watch::ConditionDef* one = name.empty() ? nullptr : watch::findCondition(name);
  if (!name.empty() && !one) return unknown(name);
  if (context.json) {
    Json json = document("conditions");
    json["conditions"] = Json::array();
    for (const watch::ConditionDef& c : watch::allConditions())
      if (!one || one == &c) json["conditions"].push_back(conditionJson(c));
    printJson(json);
  } else if (one) {
    explain(*one);
  } else {
    printTable();
  }
  return kExitFine;
}

Command::Run setup(CLI::App& options, Context& context) {
  auto name = std::make_shared<std::string>();
  options.add_option("CONDITION", *name, "explain this one (default: list all)");
  return [name, &context] { return conditions(*name, context); };
}

}  // namespace

Command conditionsCommand() {
  return {.name = "conditions",
          .summary = "the conditions that check can look for",
          .examples =
              "  msdbg conditions\n"
              "  msdbg conditions gradient_vanishing       formula, parameters, advice\n",
          .setup = setup};
}

}  // namespace msdbg::app
