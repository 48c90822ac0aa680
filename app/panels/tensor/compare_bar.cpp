#include "app/panels/tensor/compare_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSpinBox>
#include <algorithm>

#include "core_engine/base/text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

using With = Comparison::With;

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

QString link(const core::Shape& shape, std::int64_t flatIndex) {
  return QStringLiteral("<a href=\"%1\">[%2]</a>")
      .arg(flatIndex)
      .arg(text(replay::indexText(shape, flatIndex)));
}

}  // namespace

CompareBar::CompareBar(QWidget* parent) : QWidget(parent) {
  m_with = new QComboBox;
  m_with->setObjectName("compareWith");
  m_with->setAccessibleName(tr("Compare with"));
  m_with->addItem(tr("nothing"), static_cast<int>(With::kNothing));
  m_with->addItem(tr("the iteration before"), static_cast<int>(With::kPrevious));
  m_with->addItem(tr("iteration"), static_cast<int>(With::kIteration));
  m_with->addItem(tr("rank"), static_cast<int>(With::kRank));
  m_with->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_with->setMinimumContentsLength(7);
  m_number = new QSpinBox;
  m_number->setObjectName("compareNumber");
  m_number->setAccessibleName(tr("Iteration or rank to compare with"));
  m_number->setKeyboardTracking(false);
  m_number->setMinimumWidth(56);
  m_summary = new QLabel;
  m_summary->setObjectName("compareSummary");
  m_summary->setWordWrap(true);
  m_summary->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  m_shown = new QComboBox;
  m_shown->setObjectName("compareShown");
  m_shown->setAccessibleName(tr("Sides shown"));
  m_shown->setToolTip(tr("A is the cursor's value, B what it is compared with"));
  m_shown->addItems({tr("all"), tr("A"), tr("B"), tr("A − B"), tr("A and B")});
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  line->addWidget(new QLabel(tr("Compare with")));
  line->addWidget(m_with, 1);
  line->addWidget(m_number);
  line->addWidget(m_shown);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addLayout(line);
  layout->addWidget(m_summary);
  connect(m_with, &QComboBox::activated, this, &CompareBar::choose);
  connect(m_shown, &QComboBox::currentIndexChanged, this, &CompareBar::chooseShown);
  connect(m_number, &QSpinBox::valueChanged, this, &CompareBar::choose);
  connect(m_summary, &QLabel::linkActivated, this, [this](const QString& element) {
    if (m_presenter) m_presenter->showElement(element.toLongLong());
  });
  refresh();
}

void CompareBar::setPresenter(TensorPresenter* presenter) {
  if (m_presenter) m_presenter->disconnect(this);
  m_presenter = presenter;
  setEnabled(presenter != nullptr);
  chooseShown();
  if (m_presenter) {
    connect(m_presenter, &TensorPresenter::answered, this, &CompareBar::refresh);
    connect(m_presenter, &TensorPresenter::placeChanged, this, &CompareBar::refresh);
    connect(m_presenter, &TensorPresenter::factsChanged, this, &CompareBar::refresh);
  }
  refresh();
}

void CompareBar::choose() {
  if (!m_presenter) return;
  const auto with = static_cast<With>(m_with->currentData().toInt());
  std::int64_t number = m_number->value();
  if (with != m_presenter->comparison().with) {  // a first guess: where the cursor is, or another rank
    number = m_presenter->place().iteration.value;
    const std::vector<core::Rank>& ranks = m_presenter->facts().ranks;
    const auto other =
        std::ranges::find_if(ranks, [&](core::Rank r) { return r != m_presenter->place().rank; });
    if (with == With::kRank) number = other == ranks.end() ? m_presenter->place().rank.value : other->value;
  }
  m_presenter->setComparison({with, number});
}

void CompareBar::chooseShown() {
  constexpr PerSide<bool> kChoices[] = {{true, true, true},
                                        {true, false, false},
                                        {false, true, false},
                                        {false, false, true},
                                        {true, true, false}};
  if (m_presenter && m_shown->currentIndex() >= 0) m_presenter->setShown(kChoices[m_shown->currentIndex()]);
}

void CompareBar::refresh() {
  const Comparison comparison = m_presenter ? m_presenter->comparison() : Comparison();
  m_with->setCurrentIndex(m_with->findData(static_cast<int>(comparison.with)));
  const bool numbered = comparison.with == With::kIteration || comparison.with == With::kRank;
  m_number->setVisible(numbered);
  if (numbered) {
    const QSignalBlocker blocker(m_number);
    const RunFacts& facts = m_presenter->facts();
    std::int64_t most = facts.ranks.empty() ? 0 : facts.ranks.back().value;
    if (comparison.with == With::kIteration)
      most = facts.allIterations.empty() ? 0 : facts.allIterations.back().value;
    m_number->setRange(0, static_cast<int>(most));
    m_number->setValue(static_cast<int>(comparison.number));
    const auto step = comparison.with == With::kIteration ? facts.steps.at(core::Iteration(comparison.number))
                                                          : std::optional<std::int64_t>();
    m_number->setSuffix(step ? tr(" (step %1)").arg(*step) : QString());
  }
  const QString said = summary();
  m_summary->setText(said);
  m_summary->setVisible(!said.isEmpty());
  m_shown->setVisible(m_presenter && m_presenter->comparing());
}

QString CompareBar::summary() const {
  const ValueAnswer* answer = m_presenter ? m_presenter->answer() : nullptr;
  if (!answer || !m_presenter->comparing()) return {};
  if (!answer->difference) return m_presenter->message(Side::kDifference).toHtmlEscaped();
  const replay::Difference& difference = *answer->difference;
  if (difference.different == 0) return tr("A and B are equal.");
  const core::Shape& shape = answer->a.shape;
  QString said = tr("%1 of %2 differ, the first at %3")
                     .arg(text(replay::groupedNumber(difference.different)),
                          text(replay::counted(shape.elements(), "element")), link(shape, *difference.first));
  if (difference.maxAt)
    said += tr("; max |A − B| = %1 at %2")
                .arg(text(core::formatShort(difference.maxAbs)), link(shape, *difference.maxAt));
  return said;
}

}  // namespace msdbg::app
