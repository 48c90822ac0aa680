#include "app/presenters/tensor/tensor_table_model.h"

#include <algorithm>
#include <cmath>

namespace msdbg::app {
namespace {

int sections(std::int64_t count) {
  return static_cast<int>(std::min<std::int64_t>(count, TensorTableModel::kMostSections));
}

TensorTableModel::Class classOf(double value) {
  using Class = TensorTableModel::Class;
  if (std::isnan(value)) return Class::kNan;
  if (std::isinf(value)) return Class::kInf;
  return value == 0 ? Class::kZero : Class::kFinite;
}

}  // namespace

TensorTableModel::TensorTableModel(TensorPresenter& presenter, Side side, QObject* parent)
    : QAbstractTableModel(parent), m_presenter(presenter), m_side(side) {
  connect(&presenter, &TensorPresenter::planeChanged, this, &TensorTableModel::sizeMayChange);
  connect(&presenter, &TensorPresenter::answered, this, &TensorTableModel::sizeMayChange);
  connect(&presenter, &TensorPresenter::tilesChanged, this, &TensorTableModel::valuesChanged);
  sizeMayChange();
}

// While a value is waited for the table keeps its size, so that nothing jumps from one iteration to the next.
void TensorTableModel::sizeMayChange() {
  const bool nothing = m_presenter.answer() && !m_presenter.available(m_side);
  const int rows = nothing ? 0 : sections(m_presenter.plane().rows());
  const int columns = nothing ? 0 : sections(m_presenter.plane().columns());
  if (rows == m_rows && columns == m_columns) return valuesChanged();
  beginResetModel();
  m_rows = rows;
  m_columns = columns;
  endResetModel();
}

void TensorTableModel::valuesChanged() {
  if (m_rows == 0 || m_columns == 0) return;
  emit dataChanged(index(0, 0), index(m_rows - 1, m_columns - 1));
}

int TensorTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }
int TensorTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : m_columns;
}

bool TensorTableModel::cut() const {
  return m_rows > 0 && std::max(m_presenter.plane().rows(), m_presenter.plane().columns()) > kMostSections;
}

QVariant TensorTableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != kClassRole) return {};
  const TensorPresenter::Element element = m_presenter.element(m_side, index.row(), index.column());
  if (!element.tile) return role == Qt::DisplayRole ? QVariant(QStringLiteral("…")) : QVariant();
  if (role == kClassRole) return static_cast<int>(classOf(element.tile->at(element.at)));
  if (role == Qt::DisplayRole) return QString::fromStdString(replay::elementText(*element.tile, element.at));
  const SlicePlane& plane = m_presenter.plane();
  return QString::fromStdString(
      "[" + replay::indexText(plane.shape(), plane.flatIndex(index.row(), index.column())) + "]  " +
      replay::exactElementText(*element.tile, element.at));
}

QVariant TensorTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role == Qt::TextAlignmentRole && orientation == Qt::Vertical)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  return role == Qt::DisplayRole ? QVariant(section) : QVariant();  // 0-based, as everywhere
}

}  // namespace msdbg::app
