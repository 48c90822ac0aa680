#include "app/panels/timeline/position_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <algorithm>
#include <climits>
#include <functional>

namespace msdbg::app {
namespace {

// Steps along what was recorded, whatever the numbers are.
class IterationSpin : public QSpinBox {
 public:
  using QSpinBox::QSpinBox;
  std::function<void(int)> step;

 protected:
  void stepBy(int steps) override { step(steps); }
  StepEnabled stepEnabled() const override { return StepUpEnabled | StepDownEnabled; }
};

QIcon swatch(const QColor& color, int size) {
  QPixmap pixmap(size, size);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawEllipse(QRectF(2, 2, size - 4, size - 4));
  return pixmap;
}

}  // namespace

PositionBar::PositionBar(QWidget* parent)
    : QWidget(parent), m_rank(new QComboBox(this)), m_slider(new QSlider(Qt::Horizontal, this)) {
  auto* spin = new IterationSpin(this);
  m_iteration = spin;
  m_rank->setObjectName(QStringLiteral("rankCombo"));
  m_rank->setAccessibleName(QStringLiteral("Rank"));
  m_rank->setToolTip(QStringLiteral("Rank (Ctrl+Up, Ctrl+Down)"));
  m_rank->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  m_iteration->setObjectName(QStringLiteral("iterationSpin"));
  m_iteration->setAccessibleName(QStringLiteral("Iteration"));
  m_iteration->setToolTip(QStringLiteral("Iteration, from 0 on (Left, Right)"));
  m_iteration->setKeyboardTracking(false);
  m_slider->setObjectName(QStringLiteral("iterationSlider"));
  m_slider->setAccessibleName(QStringLiteral("Iteration, as a slider"));
  m_slider->setMinimumWidth(60);

  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(m_rank);
  auto* label = new QLabel(QStringLiteral("Iteration"), this);
  label->setBuddy(m_iteration);
  layout->addWidget(label);
  layout->addWidget(m_iteration);
  layout->addWidget(m_slider, 1);

  connect(m_rank, &QComboBox::currentIndexChanged, this, [this](int index) {
    if (m_document && index >= 0)
      m_document->cursor().setRank(core::Rank(m_rank->itemData(index).toLongLong()));
  });
  connect(m_iteration, &QSpinBox::valueChanged, this, [this](int value) {
    if (!m_document) return;
    m_document->cursor().setIteration(core::Iteration(value));
    follow();  // what is not recorded becomes the nearest one that is
  });
  spin->step = [this](int steps) {
    if (m_document) m_document->cursor().stepIteration(steps);
  };
  connect(m_slider, &QSlider::valueChanged, this, [this](int index) {
    if (m_document && index < static_cast<int>(iterations().size()))
      m_document->cursor().setIteration(iterations()[static_cast<std::size_t>(index)]);
  });
  setDocument(nullptr);
}

const std::vector<core::Iteration>& PositionBar::iterations() const {
  static const std::vector<core::Iteration> kNone;
  const auto& all = m_document->facts().iterations;
  const auto found = all.find(m_document->cursor().rank());
  return found == all.end() ? kNone : found->second;
}

void PositionBar::setDocument(Document* document) {
  if (m_document) m_document->disconnect(this), m_document->cursor().disconnect(this);
  m_document = document;
  setEnabled(document && !document->facts().allIterations.empty());
  fillRanks();
  if (!document) return;
  connect(&document->cursor(), &Cursor::positionChanged, this, &PositionBar::follow);
  connect(document, &Document::grew, this, &PositionBar::grow);
  follow();
}

void PositionBar::grow() {
  setEnabled(!m_document->facts().allIterations.empty());
  if (static_cast<std::size_t>(m_rank->count()) != m_document->facts().ranks.size()) fillRanks();
  follow();
}

void PositionBar::setLook(const graphview::Look& look) {
  m_look = look;
  for (int i = 0; i < m_rank->count(); ++i)
    m_rank->setItemIcon(
        i, swatch(look.rank(core::Rank(m_rank->itemData(i).toLongLong())), m_rank->iconSize().height()));
}

void PositionBar::fillRanks() {
  const QSignalBlocker blocker(m_rank);
  m_rank->clear();
  if (!m_document) return;
  for (const core::Rank rank : m_document->facts().ranks)
    m_rank->addItem(QStringLiteral("Rank %1").arg(rank.value), static_cast<qlonglong>(rank.value));
  setLook(m_look);
}

void PositionBar::follow() {
  const QSignalBlocker blockRank(m_rank), blockNumber(m_iteration), blockSlider(m_slider);
  const Cursor& cursor = m_document->cursor();
  const std::vector<core::Iteration>& list = iterations();
  m_rank->setCurrentIndex(m_rank->findData(static_cast<qlonglong>(cursor.rank().value)));
  m_iteration->setEnabled(!list.empty());
  m_slider->setEnabled(!list.empty());
  if (list.empty()) return;
  const auto bounded = [](std::int64_t value) {
    return static_cast<int>(std::min<std::int64_t>(value, INT_MAX));
  };
  m_iteration->setRange(bounded(list.front().value), bounded(list.back().value));
  m_iteration->setValue(bounded(cursor.iteration().value));
  const auto& steps = m_document->facts().steps;
  const auto step = steps.find(cursor.iteration());
  m_iteration->setSuffix(step == steps.end() ? QString() : QStringLiteral(" (step %1)").arg(step->second));
  m_slider->setRange(0, bounded(static_cast<std::int64_t>(list.size()) - 1));
  m_slider->setValue(bounded(std::ranges::lower_bound(list, cursor.iteration()) - list.begin()));
}

}  // namespace msdbg::app
