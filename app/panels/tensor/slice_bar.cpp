#include "app/panels/tensor/slice_bar.h"

#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QSpinBox>
#include <algorithm>
#include <limits>

namespace msdbg::app {
namespace {

constexpr int kIndicesPerLine = 3;
constexpr int kOneLineWidth = 560;

QComboBox* dimensionCombo(const char* name, const QString& accessible) {
  auto* combo = new QComboBox;
  combo->setObjectName(name);
  combo->setAccessibleName(accessible);
  combo->setToolTip(accessible);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo->setMinimumContentsLength(8);
  return combo;
}

int asInt(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

SliceBar::SliceBar(QWidget* parent) : QWidget(parent) {
  m_rows = dimensionCombo("sliceRows", tr("Dimension shown as rows"));
  m_columns = dimensionCombo("sliceColumns", tr("Dimension shown as columns"));
  auto* dimensions = new QHBoxLayout;
  dimensions->setSpacing(6);
  dimensions->addWidget(new QLabel(tr("Rows")));
  dimensions->addWidget(m_rows, 1);
  dimensions->addWidget(new QLabel(tr("Columns")));
  dimensions->addWidget(m_columns, 1);
  m_indexArea = new QWidget;
  m_indexGrid = new QGridLayout(m_indexArea);
  m_indexGrid->setContentsMargins(0, 0, 0, 0);
  m_indexGrid->setSpacing(6);
  m_layout = new QVBoxLayout(this);
  m_layout->setContentsMargins(0, 0, 0, 0);
  m_layout->setSpacing(6);
  m_layout->addLayout(dimensions);
  m_layout->addWidget(m_indexArea);
  connect(m_rows, &QComboBox::activated, this, [this](int d) {
    if (m_presenter) m_presenter->setRowDimension(d);
  });
  connect(m_columns, &QComboBox::activated, this, [this](int d) {
    if (m_presenter) m_presenter->setColumnDimension(d);
  });
  hide();
}

void SliceBar::setPresenter(TensorPresenter* presenter) {
  if (m_presenter) m_presenter->disconnect(this);
  m_presenter = presenter;
  if (m_presenter) connect(m_presenter, &TensorPresenter::planeChanged, this, &SliceBar::refresh);
  refresh();
}

// One line where there is room for it.
void SliceBar::resizeEvent(QResizeEvent* event) {
  m_layout->setDirection(event->size().width() >= kOneLineWidth ? QBoxLayout::LeftToRight
                                                                : QBoxLayout::TopToBottom);
}

void SliceBar::fill(QComboBox* combo, int current) {
  combo->clear();
  for (std::size_t d = 0; d < m_shape.rank(); ++d) combo->addItem(tr("dim %1 (%2)").arg(d).arg(m_shape[d]));
  combo->setCurrentIndex(current);
}

// The spin boxes are made anew for another shape only: who holds an arrow down keeps it.
void SliceBar::rebuild() {
  for (QSpinBox* spin : m_indices) spin->deleteLater();
  m_indices.clear();
  const int rank = static_cast<int>(m_shape.rank());
  for (int d = 0; d < rank; ++d) {
    auto* spin = new QSpinBox(m_indexArea);
    const std::int64_t size = m_shape[static_cast<std::size_t>(d)];
    spin->setObjectName(QStringLiteral("sliceIndex%1").arg(d));
    spin->setAccessibleName(tr("Index of dimension %1, which has %2").arg(d).arg(size));
    spin->setToolTip(spin->accessibleName());
    spin->setRange(0, asInt(size - 1));
    spin->setPrefix(tr("dim %1: ").arg(d));
    spin->setSuffix(QStringLiteral(" / %1").arg(size));
    spin->setKeyboardTracking(false);
    spin->setMinimumWidth(60);
    spin->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(spin, &QSpinBox::valueChanged, this, [this, d](int value) {
      if (m_presenter) m_presenter->setIndex(d, value);
    });
    m_indices.push_back(spin);
  }
}

void SliceBar::refresh() {
  const SlicePlane plane = m_presenter ? m_presenter->plane() : SlicePlane();
  setVisible(plane.valid() && plane.shape().rank() >= 2);
  if (isHidden()) return;
  if (plane.shape() != m_shape) {
    m_shape = plane.shape();
    rebuild();
  }
  fill(m_rows, plane.rowDimension());
  fill(m_columns, plane.columnDimension());
  int shown = 0;
  for (int d = 0; d < static_cast<int>(m_indices.size()); ++d) {
    QSpinBox* spin = m_indices[static_cast<std::size_t>(d)];
    const bool fixed = d != plane.rowDimension() && d != plane.columnDimension();
    const QSignalBlocker blocker(spin);
    spin->setValue(asInt(plane.index(d)));
    m_indexGrid->removeWidget(spin);
    spin->setVisible(fixed);
    if (fixed) m_indexGrid->addWidget(spin, shown / kIndicesPerLine, shown % kIndicesPerLine);
    shown += fixed;
  }
  m_indexArea->setVisible(shown > 0);
}

}  // namespace msdbg::app
