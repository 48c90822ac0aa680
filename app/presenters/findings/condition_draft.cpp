#include "app/presenters/findings/condition_draft.h"

#include "core_engine/base/text.h"

namespace msdbg::app {

core::Result<watch::Watchpoint> ConditionDraft::watchpoint(const core::Graph* graph) const {
  std::vector<std::string> given;
  for (const watch::ParameterSpec& spec : condition->parameters) {
    const auto field = fields.find(std::string(spec.name));
    const QString text = field == fields.end() ? QString() : field->second.trimmed();
    if (text.isEmpty()) continue;
    if (text.contains(',') || text.contains('='))  // would end the parameter in a watchpoint's text
      return core::Error(core::ErrorCode::kUsage,
                         std::string(condition->id) + ": " + std::string(spec.name) + ": '" +
                             text.toStdString() + "' " +
                             (spec.isNumber() ? "is not a number" : "holds , or =, which no name can"));
    given.push_back(std::string(spec.name) + "=" + text.toStdString());
  }
  const std::string id(condition->id);
  MSDBG_ASSIGN(watch::Watchpoint made,
               watch::parseWatchpoint(given.empty() ? id : id + ":" + core::join(given, ",")));
  if (graph) MSDBG_TRY(watch::namesFit(made, *graph));
  return made;
}

ConditionDraft ConditionDraft::of(const watch::Watchpoint& watchpoint) {
  ConditionDraft draft{watchpoint.condition, {}};
  for (const watch::ParameterSpec& spec : watchpoint.condition->parameters) {
    const auto value = watchpoint.parameters.find(spec.name);
    if (value == watchpoint.parameters.end() || spec.isDefault(value->second)) continue;
    draft.fields[std::string(spec.name)] = QString::fromStdString(watch::valueText(value->second));
  }
  return draft;
}

QString rangeText(watch::ParameterType type) {
  switch (type) {
    case watch::ParameterType::kAbs:
      return QStringLiteral("0 or more");
    case watch::ParameterType::kPct:
      return QStringLiteral("0 to 100");
    case watch::ParameterType::kPos:
      return QStringLiteral("above 0");
    case watch::ParameterType::kTensor:
    case watch::ParameterType::kTensors: {
      const std::string_view text = watch::typeText(type);
      return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    }
    case watch::ParameterType::kReal:
      break;
  }
  return QStringLiteral("any finite number");
}

}  // namespace msdbg::app
