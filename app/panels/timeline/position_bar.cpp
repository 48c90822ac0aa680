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

#include "app/panels/timeline/step_edit.h"

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
    : QWidget(parent),
      m_rank(new QComboBox(this)),
      m_stepLabel(new QLabel(QStringLiteral("Step"), this)),
      m_step(new StepEdit(this)),
      m_slider(new QSlider(Qt::Horizontal, this)) {
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
  layout->addWidget(m_stepLabel);
  layout->addWidget(m_step);
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
  makeStep();
  setDocument(nullptr);
}

void PositionBar::makeStep() {
  m_step->setObjectName(QStringLiteral("stepEdit"));
  m_step->setAccessibleName(QStringLiteral("Step"));
  m_step->setToolTip(
      QStringLiteral("The program's own number of the iteration (msdbg.step): type one to go there"));
  m_stepLabel->setBuddy(m_step);
  connect(m_step, &StepEdit::typed, this, &PositionBar::goToStep);
  connect(m_step, &StepEdit::stepped, this, [this](int by) {
    if (m_document) m_document->cursor().stepIteration(by);
  });
}

// What nobody recorded becomes the nearest one that is, as an iteration does.
void PositionBar::goToStep(qint64 step) {
  if (!m_document) return;
  if (const auto iteration = m_document->facts().steps.nearest(step))
    m_document->cursor().setIteration(*iteration);
  follow();
}

void PositionBar::followStep() {
  const replay::UserSteps& steps = m_document->facts().steps;
  for (QWidget* widget : {static_cast<QWidget*>(m_stepLabel), static_cast<QWidget*>(m_step)})
    widget->setVisible(!steps.empty());
  if (!steps.empty()) m_step->setStep(steps.at(m_document->cursor().iteration()), steps.last());
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
  m_stepLabel->hide();
  m_step->hide();
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
  followStep();
  m_slider->setRange(0, bounded(static_cast<std::int64_t>(list.size()) - 1));
  m_slider->setValue(bounded(std::ranges::lower_bound(list, cursor.iteration()) - list.begin()));
}

}  // namespace msdbg::app
