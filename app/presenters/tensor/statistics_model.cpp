#include "app/presenters/tensor/statistics_model.h"

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/tensor/flags.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

using core::formatShort;
using replay::groupedNumber;

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

std::string shareText(double share) { return core::formatShort(100 * share, 3) + " %"; }

// Fills one column; rows come into being in the order in which they are first said.
class Column {
 public:
  Column(std::vector<StatisticsModel::Row>& rows, std::size_t column) : m_rows(rows), m_column(column) {}

  void add(const char* name, const std::string& value, bool alarm = false, const char* tooltip = "") {
    auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const auto& r) { return r.name == name; });
    if (row == m_rows.end()) {
      m_rows.push_back({.name = name, .tooltip = tooltip});
      row = m_rows.end() - 1;
    }
    row->values[m_column] = text(value);
    row->alarm[m_column] = alarm;
  }

  void add(const watch::StatisticsRow& row, const std::string& device) {
    addNonFinite(row.values);
    if (!core::isFlags(row.values)) {
      addCounts(row.values);
      addSizes(row.values);
    }
    if (row.change) addChange(*row.change);
    if (row.activation) {
      add("in range", shareText(row.activation->shareInRange), false,
          "share of elements in the preset range");
      add("dead units", shareText(row.activation->shareDeadUnits), false,
          "share of units active in fewer than 1 % of their elements");
    }
    if (!device.empty()) add("device", device, false, "where it lay when it was first seen");
    if (!core::isFlags(row.values))
      add("hash", row.values.hash.text(), false, "of the bytes: equal hashes, equal values");
  }

 private:
  void addNonFinite(const core::TensorStatistics& s) {
    add("elements", groupedNumber(s.count));
    add("NaN", groupedNumber(s.nan), s.nan > 0);
    add("+Inf", groupedNumber(s.posInf), s.posInf > 0);
    add("-Inf", groupedNumber(s.negInf), s.negInf > 0);
  }
  void addCounts(const core::TensorStatistics& s) {
    const double share = s.count ? static_cast<double>(s.zero) / static_cast<double>(s.count) : 0;
    add("zero", groupedNumber(s.zero) + (s.count ? " (" + shareText(share) + ")" : ""));
    add("negative", groupedNumber(s.negative));
    add("positive", groupedNumber(s.positive));
  }
  void addSizes(const core::TensorStatistics& s) {
    add("min", formatShort(s.min), false, "of the finite elements, as all below");
    add("max", formatShort(s.max));
    add("mean", formatShort(s.mean));
    add("mean |x|", formatShort(s.meanAbs));
    add("std", formatShort(s.std), false, "with n - 1 in the denominator");
    add("L1", formatShort(s.l1));
    add("L2", formatShort(s.l2));
  }
  void addChange(const core::ChangeStatistics& c) {
    add("mean change", formatShort(c.meanAbsChange), false, "mean |x - previous|");
    add("max change", formatShort(c.maxAbsChange), false, "max |x - previous|");
    add("mean before", formatShort(c.meanAbsPrevious), false, "mean |previous|");
    add("changed", groupedNumber(c.outsideTolerance), false,
        "elements outside tolerance of the previous value");
  }
  std::vector<StatisticsModel::Row>& m_rows;
  std::size_t m_column;
};

}  // namespace

StatisticsModel::StatisticsModel(TensorPresenter& presenter, QObject* parent)
    : QAbstractTableModel(parent), m_presenter(presenter) {
  connect(&presenter, &TensorPresenter::answered, this, &StatisticsModel::refresh);
  refresh();
}

// While an answer is waited for the old rows would be wrong, but their number is right: cells are emptied.
void StatisticsModel::refresh() {
  std::vector<Row> rows;
  const ValueAnswer* answer = m_presenter.answer();
  if (answer && answer->a.statistics) Column(rows, 0).add(*answer->a.statistics, answer->a.device);
  if (answer && answer->b && answer->b->statistics)
    Column(rows, 1).add(*answer->b->statistics, answer->b->device);
  if (!answer && m_presenter.hasTensor()) {
    rows = m_rows;
    for (Row& row : rows) row = {.name = row.name, .tooltip = row.tooltip};
  }
  const int columns = m_presenter.comparing() ? 2 : 1;
  if (rows.size() == m_rows.size() && columns == m_columns) {
    m_rows = std::move(rows);
    if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columns - 1));
    emit headerDataChanged(Qt::Horizontal, 0, columns - 1);
    return;
  }
  beginResetModel();
  m_rows = std::move(rows);
  m_columns = columns;
  endResetModel();
}

int StatisticsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int StatisticsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_columns; }

QVariant StatisticsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return row.values[index.column()];
  if (role == kAlarmRole) return row.alarm[index.column()];
  if (role == Qt::ToolTipRole)  // a hash is often cut
    return row.values[index.column()] + (row.tooltip.isEmpty() ? "" : "\n" + row.tooltip);
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  return {};
}

QVariant StatisticsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal)
    return role == Qt::DisplayRole ? QVariant(m_presenter.placeText(section == 0 ? Side::kA : Side::kB))
                                   : QVariant();
  const Row& row = m_rows[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return row.name;
  if (role == Qt::ToolTipRole && !row.tooltip.isEmpty()) return row.tooltip;
  return {};
}

}  // namespace msdbg::app
