#include "core_engine/plan/pass_selection.h"

#include <algorithm>
#include <cstdlib>

#include "core_engine/base/text.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

std::vector<std::string> allNames() {
  std::vector<std::string> names;
  for (const PlanPass& pass : planPasses()) names.emplace_back(pass.name);
  return names;
}

Error unknownPass(std::string_view name, const std::vector<std::string>& names) {
  const std::string near = didYouMean(name, names);
  return {ErrorCode::kUsage, "there is no pass '" + std::string(name) + "'" +
                                 (near.empty() ? "; there are " + join(names, ", ") : near)};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// One item of the list: its sign ('+', '-' or none) and name.
struct Item {
  char sign = 0;
  std::string name;
};

Result<std::vector<Item>> itemsOf(std::string_view text, const std::vector<std::string>& names) {
  std::vector<Item> items;
  for (const std::string& word : split(text, ',')) {
    const bool isSigned = word.starts_with('+') || word.starts_with('-');
    items.push_back({isSigned ? word[0] : '\0', isSigned ? word.substr(1) : word});
    if (!std::ranges::count(names, items.back().name)) return unknownPass(items.back().name, names);
    if ((items.front().sign == 0) != !isSigned)
      return Error(ErrorCode::kUsage, "'" + std::string(text) +
                                          "' mixes names with and without a sign: either +x,-y (beside the "
                                          "others) or x,y (these only)");
  }
  return items;
}

}  // namespace

Result<PassSelection> PassSelection::parse(std::string_view text) {
  PassSelection selection;
  if (text.empty() || text == "all") return selection;
  const std::vector<std::string> names = allNames();
  std::vector<std::string> off = names;
  if (text != "none") {
    MSDBG_ASSIGN(const std::vector<Item> items, itemsOf(text, names));
    if (items.front().sign != 0) off.clear();
    for (const Item& item : items) {
      std::erase(off, item.name);
      if (item.sign == '-') off.push_back(item.name);
    }
  }
  for (const std::string& name : names)
    if (std::ranges::count(off, name)) selection.m_off.push_back(name);
  return selection;
}

Result<PlanChoices> PlanChoices::fromEnvironment() {
  PlanChoices choices;
  auto passes = PassSelection::parse(environment("MSDBG_PASSES"));
  if (!passes.ok()) return passes.error().in("MSDBG_PASSES");
  choices.passes = std::move(passes).value();
  for (const std::string& glob : split(environment("MSDBG_RECOMPUTE"), ';'))
    if (!glob.empty()) choices.recompute.push_back(glob);
  return choices;
}

bool PassSelection::on(std::string_view pass) const { return !std::ranges::count(m_off, pass); }

std::string PassSelection::text() const {
  std::vector<std::string> parts;
  for (const std::string& name : m_off) parts.push_back("-" + name);
  return join(parts, ",");
}

}  // namespace msdbg::core
