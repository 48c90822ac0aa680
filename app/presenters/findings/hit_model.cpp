#include "app/presenters/findings/hit_model.h"

#include "app/presenters/findings/finding_text.h"
#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

constexpr const char* kTitles[] = {"", "Iter.", "Step", "Rank", "Condition", "Where", "Line", "Actual"};
static_assert(std::size(kTitles) == HitModel::kColumns);

bool isFault(const watch::Hit& hit) { return hit.effectiveSeverity == watch::Severity::kFault; }

Qt::Alignment alignmentOf(int column) {
  if (column == HitModel::kRank) return Qt::AlignCenter;  // few digits, beside a text
  const bool number =
      column == HitModel::kIteration || column == HitModel::kStep || column == HitModel::kActual;
  return Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft);
}

}  // namespace

HitModel::HitModel(const Findings& findings, std::shared_ptr<const RunFacts> facts, QObject* parent)
    : QAbstractTableModel(parent), m_findings(findings), m_facts(std::move(facts)) {
  connect(&findings, &Findings::changed, this, &HitModel::refresh);
  refresh();
}

// Only a new report changes the rows: a check that starts leaves the old ones and what is selected in them.
void HitModel::refresh() {
  if (m_shownReport == m_findings.reportNumber()) return;
  beginResetModel();
  m_shownReport = m_findings.reportNumber();
  m_rows = static_cast<int>(m_findings.hits().size());
  endResetModel();
}

void HitModel::setFacts(std::shared_ptr<const RunFacts> facts) {
  m_facts = std::move(facts);
  if (m_rows > 0 && hasSteps()) emit dataChanged(index(0, kStep), index(m_rows - 1, kStep));
}

int HitModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }

int HitModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString HitModel::text(const watch::Hit& hit, int column) const {
  const core::Graph& graph = *m_facts->graph;
  switch (column) {
    case kSeverity:
      return isFault(hit) ? QStringLiteral("fault") : QStringLiteral("hint");
    case kCondition:
      return titleOf(hit);
    case kIteration:
      return QString::number(hit.iteration.value);
    case kStep: {
      const std::optional<std::int64_t> step = m_facts->steps.at(hit.iteration);
      return step ? QString::number(*step) : QString();
    }
    case kRank:
      return QString::number(hit.rank.value);
    case kWhere:
      return QString::fromStdString(replay::hitPlace(graph, hit));
    case kLine:
      return QString::fromStdString(replay::placeOf(graph.userFrame(replay::framesOf(graph, hit))));
    case kActual:
      return QString::fromStdString(core::formatShort(hit.actual));
    default:
      return {};
  }
}

QVariant HitModel::sortKey(const watch::Hit& hit, int column) const {
  switch (column) {
    case kSeverity:
      return isFault(hit) ? 0 : 1;
    case kIteration:
      return static_cast<qlonglong>(hit.iteration.value);
    case kStep:
      return static_cast<qlonglong>(m_facts->steps.at(hit.iteration).value_or(-1));
    case kRank:
      return static_cast<qlonglong>(hit.rank.value);
    case kWhere:  // as the training runs, not by name
      return static_cast<qlonglong>(hit.order);
    case kLine: {
      const core::Frame* frame = m_facts->graph->userFrame(replay::framesOf(*m_facts->graph, hit));
      return frame ? QStringLiteral("%1:%2").arg(QString::fromStdString(frame->file),
                                                 QString::number(frame->line).rightJustified(9))
                   : QString();
    }
    case kActual:
      return hit.actual;
    default:
      return text(hit, column);
  }
}

QString HitModel::toolTip(const watch::Hit& hit) const {
  const core::Graph& graph = *m_facts->graph;
  QStringList lines = {
      QString::fromStdString(replay::whatText(graph, hit)),
      QStringLiteral("iteration %1, rank %2").arg(m_facts->iterationText(hit.iteration)).arg(hit.rank.value)};
  for (const std::string& line : {replay::nodeText(graph, hit), replay::valuesText(graph, hit), hit.detail})
    if (!line.empty()) lines << QString::fromStdString(line);
  lines << QString::fromStdString(replay::sourceLine(graph.userFrame(replay::framesOf(graph, hit))));
  return lines.join('\n');
}

QVariant HitModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const watch::Hit& hit = m_findings.hits()[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text(hit, index.column());
    case Qt::ToolTipRole:
      return toolTip(hit);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(alignmentOf(index.column()));
    case kSortRole:
      return sortKey(hit, index.column());
    case kIsFaultRole:
      return isFault(hit);
    default:
      return {};
  }
}

QVariant HitModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return QString::fromLatin1(kTitles[section]);
  if (role == Qt::TextAlignmentRole) return QVariant::fromValue(alignmentOf(section));
  if (role == Qt::ToolTipRole && section == kActual)
    return QStringLiteral("the value that exceeds the threshold");
  if (role == Qt::ToolTipRole && section == kIteration)
    return QStringLiteral("the first iteration of the hit");
  if (role == Qt::ToolTipRole && section == kStep)
    return QStringLiteral("the program's own number of it (msdbg.step)");
  if (role == Qt::ToolTipRole && section == kSeverity) return QStringLiteral("fault or hint");
  return {};
}

HitFilter::HitFilter(QObject* parent) : QSortFilterProxyModel(parent) { setSortRole(HitModel::kSortRole); }

void HitFilter::setShown(bool faults, bool hints) {
  m_faults = faults;
  m_hints = hints;
  invalidateFilter();
}

bool HitFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const bool fault = sourceModel()->index(row, 0, parent).data(HitModel::kIsFaultRole).toBool();
  return fault ? m_faults : m_hints;
}

}  // namespace msdbg::app
