#include "app/presenters/findings/watchpoint_model.h"

#include "core_engine/base/text.h"

namespace msdbg::app {
namespace {

QString view(std::string_view t) { return QString::fromUtf8(t.data(), static_cast<qsizetype>(t.size())); }

QStringList textsOf(const Findings& findings) {
  QStringList texts;
  for (const Findings::Entry& entry : findings.entries())
    texts << QString::fromStdString(entry.watchpoint.text());
  return texts;
}

QString parametersText(const watch::Watchpoint& watchpoint) {
  QStringList texts;
  for (const watch::ParameterSpec& spec : watchpoint.condition->parameters) {
    const auto given = watchpoint.parameters.find(spec.name);
    if (given == watchpoint.parameters.end()) continue;
    const auto* number = std::get_if<double>(&given->second);
    const std::string text = number ? core::formatShort(*number) : watch::valueText(given->second);
    texts << QStringLiteral("%1 = %2").arg(view(spec.name), QString::fromStdString(text));
  }
  return texts.join(QStringLiteral(", "));
}

bool isHint(const watch::Watchpoint& watchpoint) {
  return watchpoint.severity.value_or(watchpoint.condition->severity) == watch::Severity::kHint;
}

QString toolTip(const watch::Watchpoint& watchpoint) {
  return QStringLiteral("<p><b>%1</b>%2%3</p><p>%4</p>")
      .arg(QString::fromStdString(watchpoint.text()).toHtmlEscaped(),
           isHint(watchpoint) ? QStringLiteral(", a hint") : QString(),
           watchpoint.recommended ? QStringLiteral(", recommended") : QString(),
           view(watchpoint.condition->doc).toHtmlEscaped());
}

}  // namespace

WatchpointModel::WatchpointModel(Findings& findings, QObject* parent)
    : QAbstractTableModel(parent), m_findings(findings), m_texts(textsOf(findings)) {
  connect(&findings, &Findings::changed, this, &WatchpointModel::refresh);
}

// The same rows keep their selection: only their check marks may differ.
void WatchpointModel::refresh() {
  QStringList texts = textsOf(m_findings);
  if (texts == m_texts) {
    if (!texts.isEmpty())
      emit dataChanged(index(0, 0), index(static_cast<int>(texts.size()) - 1, kColumns - 1),
                       {Qt::CheckStateRole});
    return;
  }
  beginResetModel();
  m_texts = std::move(texts);
  endResetModel();
}

int WatchpointModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_texts.size());
}

int WatchpointModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant WatchpointModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Findings::Entry& entry = m_findings.entries()[static_cast<std::size_t>(index.row())];
  if (role == Qt::ToolTipRole) return toolTip(entry.watchpoint);
  if (index.column() == kParameters)
    return role == Qt::DisplayRole ? QVariant(parametersText(entry.watchpoint)) : QVariant();
  if (role == Qt::CheckStateRole) return entry.enabled ? Qt::Checked : Qt::Unchecked;
  if (role == Qt::DisplayRole) return view(entry.watchpoint.condition->title);
  return {};
}

bool WatchpointModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || index.column() != kTitle ||
      !checkIndex(index, CheckIndexOption::IndexIsValid))
    return false;
  m_findings.setEnabled(static_cast<std::size_t>(index.row()), value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags WatchpointModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  return index.isValid() && index.column() == kTitle ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant WatchpointModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kTitle ? QStringLiteral("Condition") : QStringLiteral("Parameters");
}

}  // namespace msdbg::app
