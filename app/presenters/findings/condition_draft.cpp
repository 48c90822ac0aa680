#include "app/presenters/findings/condition_draft.h"

#include "core_engine/base/text.h"

namespace msdbg::app {

core::Result<watch::Watchpoint> ConditionDraft::watchpoint() const {
  std::vector<std::string> given;
  for (const watch::ParameterSpec& spec : condition->parameters) {
    const auto field = fields.find(std::string(spec.name));
    const QString text = field == fields.end() ? QString() : field->second.trimmed();
    if (text.isEmpty()) continue;
    if (text.contains(',') || text.contains('='))  // would end the parameter in a watchpoint's text
      return core::Error(core::ErrorCode::kUsage, std::string(condition->id) + ": " + std::string(spec.name) +
                                                      ": '" + text.toStdString() + "' is not a number");
    given.push_back(std::string(spec.name) + "=" + text.toStdString());
  }
  const std::string id(condition->id);
  return watch::parseWatchpoint(given.empty() ? id : id + ":" + core::join(given, ","));
}

ConditionDraft ConditionDraft::of(const watch::Watchpoint& watchpoint) {
  ConditionDraft draft{watchpoint.condition, {}};
  for (const watch::ParameterSpec& spec : watchpoint.condition->parameters) {
    const auto value = watchpoint.parameters.find(spec.name);
    if (value == watchpoint.parameters.end() || value->second == spec.defaultValue) continue;
    draft.fields[std::string(spec.name)] = QString::fromStdString(core::formatDouble(value->second));
  }
  return draft;
}

QString rangeText(watch::ParameterRange range) {
  switch (range) {
    case watch::ParameterRange::kAbs:
      return QStringLiteral("0 or more");
    case watch::ParameterRange::kPct:
      return QStringLiteral("0 to 100");
    case watch::ParameterRange::kPos:
      return QStringLiteral("above 0");
    case watch::ParameterRange::kReal:
      break;
  }
  return QStringLiteral("any finite number");
}

}  // namespace msdbg::app
