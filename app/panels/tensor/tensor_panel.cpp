#include "app/panels/tensor/tensor_panel.h"

#include <QComboBox>
#include <QCompleter>
#include <QEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QShortcut>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "app/panels/builtin_panels.h"
#include "app/panels/elided_label.h"
#include "app/panels/place_menu.h"
#include "app/panels/tensor/compare_bar.h"
#include "app/panels/tensor/histogram_page.h"
#include "app/panels/tensor/picture_view.h"
#include "app/panels/tensor/pictures_page.h"
#include "app/panels/tensor/slice_bar.h"
#include "app/panels/tensor/values_view.h"
#include "app/presenters/answer/questions.h"
#include "graph_view/scene/look.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

QString text(const std::string& utf8) { return QString::fromStdString(utf8); }

constexpr int kLow = 600;  // pixels
constexpr Qt::Key kWhyKey = Qt::Key_W, kHistoryKey = Qt::Key_H;

class AlarmDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (!index.data(StatisticsModel::kAlarmRole).toBool()) return;
    option->palette.setColor(QPalette::Text, graphview::lookOf(option->palette).fault);
    option->font.setBold(true);
  }
};

QLabel* wrappedLabel(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

TensorPanel::TensorPanel(QWidget* parent) : Panel(parent) {
  m_hint = wrappedLabel("tensorHint");
  m_hint->setAlignment(Qt::AlignCenter);
  m_hint->setText(tr("No run is open."));
  m_compare = new CompareBar;
  m_slice = new SliceBar;
  m_values = new ValuesView;
  m_pictures = new PicturesPage;
  m_histogram = new HistogramPage;
  m_tabs = new QTabWidget;
  m_tabs->setObjectName("tensorTabs");
  m_tabs->setDocumentMode(true);
  m_tabs->addTab(m_values, tr("Values"));
  m_tabs->addTab(m_pictures, tr("Picture"));
  m_tabs->addTab(m_histogram, tr("Histogram"));
  m_tabs->addTab(makeStatistics(), tr("Statistics"));
  connect(m_values, &ValuesView::menuWanted, this, &TensorPanel::showCellMenu);
  for (const auto& [key, question] : {std::pair(kWhyKey, Ask::kWhy), {kHistoryKey, Ask::kHistory}})
    connect(new QShortcut(key, m_values, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
            &QShortcut::activated, this, [this, asked = question] { ask(asked, m_values->sideInUse()); });
  connect(m_values, &ValuesView::statisticsWanted, this, [this] { m_tabs->setCurrentWidget(m_statistics); });
  auto* body = new QWidget;
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(8, 6, 8, 6);
  layout->setSpacing(6);
  layout->addWidget(makeHeader());
  layout->addWidget(m_compare);
  layout->addWidget(m_slice);
  layout->addWidget(m_tabs, 1);
  m_nothing = wrappedLabel("tensorNothing");
  m_nothing->setAlignment(Qt::AlignCenter);
  m_nothing->setText(tr("Select a node or type the name of a tensor."));
  layout->addWidget(m_nothing, 1);
  m_stack = new QStackedWidget;
  m_stack->addWidget(m_hint);
  m_stack->addWidget(body);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(m_stack);
}

TensorPanel::~TensorPanel() { setDocument(nullptr); }

QWidget* TensorPanel::makeHeader() {
  m_name = new QComboBox;
  m_name->setObjectName("tensorName");
  m_name->setAccessibleName(tr("Tensor"));
  m_name->setEditable(true);
  m_name->setInsertPolicy(QComboBox::NoInsert);
  m_name->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_name->setMinimumContentsLength(12);
  m_name->lineEdit()->setPlaceholderText(tr("Name of a tensor"));
  connect(m_name, &QComboBox::activated, this, &TensorPanel::choose);
  connect(m_name->lineEdit(), &QLineEdit::returnPressed, this, &TensorPanel::typed);
  m_ask = makeMenuButton("tensorAsk", tr("Ask"), tr("Questions that are answered by computing again"));
  connect(m_ask->menu(), &QMenu::aboutToShow, this, [this] {
    m_ask->menu()->clear();
    addQuestions(m_ask->menu(), Side::kA);
  });
  m_export = makeMenuButton("tensorExport", tr("Export"),
                            tr("Write the tensor, the shown slice or the picture into a file"));
  connect(m_export->menu(), &QMenu::aboutToShow, this, [this] { fillExportMenu(m_export->menu()); });
  m_type = new ElidedLabel;
  m_type->setObjectName("tensorType");
  m_place = new ElidedLabel;
  m_place->setObjectName("tensorPlace");
  m_problem = wrappedLabel("tensorProblem");
  m_problem->hide();
  auto* line = new QHBoxLayout;
  line->setSpacing(6);
  line->addWidget(m_name, 1);
  line->addWidget(m_ask);
  line->addWidget(m_export);
  auto* header = new QWidget;
  auto* layout = new QVBoxLayout(header);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(3);
  layout->addLayout(line);
  layout->addWidget(m_problem);
  layout->addWidget(m_type);
  layout->addWidget(m_place);
  return header;
}

QToolButton* TensorPanel::makeMenuButton(const char* name, const QString& text, const QString& tip) {
  auto* button = new QToolButton;
  button->setObjectName(name);
  button->setText(text);
  button->setAccessibleName(text);
  button->setToolTip(tip);
  button->setPopupMode(QToolButton::MenuButtonPopup);  // the arrow has a place of its own
  connect(button, &QToolButton::clicked, button, &QToolButton::showMenu);
  button->setMenu(new QMenu(button));
  return button;
}

QWidget* TensorPanel::makeStatistics() {
  m_statistics = new QTableView;
  m_statistics->setObjectName("tensorStatistics");
  m_statistics->setAccessibleName(tr("Statistics"));
  m_statistics->setItemDelegate(new AlarmDelegate(m_statistics));
  m_statistics->setSelectionMode(QAbstractItemView::SingleSelection);
  m_statistics->setShowGrid(false);
  m_statistics->setTabKeyNavigation(false);
  m_statistics->setCornerButtonEnabled(false);
  m_statistics->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  m_statistics->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  m_statistics->verticalHeader()->setDefaultSectionSize(m_statistics->fontMetrics().height() + 6);
  return m_statistics;
}

void TensorPanel::setDocument(Document* document) {
  m_values->setPresenter(nullptr);
  m_pictures->setPresenter(nullptr);
  m_histogram->setPresenter(nullptr);
  m_compare->setPresenter(nullptr);
  m_slice->setPresenter(nullptr);
  m_statistics->setModel(nullptr);
  m_statisticsModel.reset();
  const Comparison comparison = m_presenter ? m_presenter->comparison() : Comparison();
  m_presenter.reset();
  m_choices.clear();
  m_name->clear();
  say({});
  if (document) {
    m_presenter = std::make_unique<TensorPresenter>(*document);
    m_presenter->setActive(isVisible());
    if (comparison.with == Comparison::With::kPrevious) m_presenter->setComparison(comparison);
    m_statisticsModel = std::make_unique<StatisticsModel>(*m_presenter);
    m_statistics->setModel(m_statisticsModel.get());
    m_values->setPresenter(m_presenter.get());
    m_pictures->setPresenter(m_presenter.get());
    m_histogram->setPresenter(m_presenter.get());
    m_compare->setPresenter(m_presenter.get());
    m_slice->setPresenter(m_presenter.get());
    auto* completer = new QCompleter(tensorNames(document->graph()), m_name);
    completer->setFilterMode(Qt::MatchContains);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    m_name->setCompleter(completer);
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &TensorPanel::typed,
            Qt::QueuedConnection);
    TensorPresenter* p = m_presenter.get();
    connect(&document->cursor(), &Cursor::selectionChanged, p, [this] { refreshChoices(); });
    connect(p, &TensorPresenter::tensorChanged, this, &TensorPanel::refreshChoices);
    connect(p, &TensorPresenter::placeChanged, this, &TensorPanel::refreshHeader);
    connect(p, &TensorPresenter::answered, this, &TensorPanel::refreshHeader);
    connect(p, &TensorPresenter::exported, this, &Panel::status);
    connect(p, &TensorPresenter::failed, this, [this](const QString& message) {
      say(message);
      emit status(message);
    });
  }
  refreshChoices();
}

QString TensorPanel::command() const { return m_presenter ? m_presenter->command() : QString(); }
bool TensorPanel::settled() const { return !m_presenter || m_presenter->settled(); }

void TensorPanel::takeFocus() {
  if (m_tabs->currentWidget() == m_values && m_stack->currentIndex() == 1)
    m_values->table(Side::kA)->setFocus(Qt::ShortcutFocusReason);
  else
    m_name->setFocus(Qt::ShortcutFocusReason);
}

void TensorPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  refreshHeader();
}

void TensorPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  if (m_presenter) m_presenter->setActive(true);
}

void TensorPanel::hideEvent(QHideEvent* event) {
  Panel::hideEvent(event);
  if (m_presenter) m_presenter->setActive(false);
}

void TensorPanel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) refreshHeader();
  Panel::changeEvent(event);
}

void TensorPanel::say(const QString& problem) {
  m_problem->setText(problem);
  m_problem->setVisible(!problem.isEmpty());
}

// One of the selected node's own: the node stays selected.
void TensorPanel::choose(int index) {
  if (!m_presenter || index < 0 || index >= static_cast<int>(m_choices.size())) return;
  Place place = m_presenter->document().cursor().place();
  place.tensor = m_choices[static_cast<std::size_t>(index)].tensor;
  m_presenter->document().cursor().moveTo(std::move(place));
  refreshChoices();
}

void TensorPanel::typed() {
  if (!m_presenter) return;
  const QString name = m_name->currentText().trimmed();
  for (std::size_t i = 0; i < m_choices.size(); ++i)
    if (m_choices[i].label == name) return choose(static_cast<int>(i));
  if (name.isEmpty()) return;
  const core::Result<core::TensorId> found =
      replay::resolveTensor(m_presenter->document().graph(), name.toStdString());
  if (!found.ok()) return say(text(found.error().message()));
  m_presenter->document().cursor().selectTensor(*found);
  refreshChoices();
}

void TensorPanel::refreshChoices() {
  const QSignalBlocker blocker(m_name);
  m_choices.clear();
  m_name->clear();
  say({});
  if (m_presenter) {
    m_choices = tensorChoices(m_presenter->document().graph(), m_presenter->document().cursor().place());
    for (const TensorChoice& choice : m_choices) {
      m_name->addItem(choice.label);
      m_name->setItemData(m_name->count() - 1, choice.tooltip, Qt::ToolTipRole);
    }
    const auto at = std::ranges::find(m_choices, m_presenter->tensor(), &TensorChoice::tensor);
    m_name->setCurrentIndex(at == m_choices.end() ? -1 : static_cast<int>(at - m_choices.begin()));
    m_name->setToolTip(at == m_choices.end() ? QString() : at->tooltip);
  }
  m_name->lineEdit()->setCursorPosition(0);
  refreshHeader();
}

void TensorPanel::refreshHeader() {
  m_stack->setCurrentIndex(m_presenter ? 1 : 0);
  const bool shown = m_presenter && m_presenter->hasTensor();
  for (QWidget* part : {static_cast<QWidget*>(m_compare), static_cast<QWidget*>(m_tabs),
                        static_cast<QWidget*>(m_ask), static_cast<QWidget*>(m_export)})
    part->setVisible(shown);
  // A low panel leaves the room to the tables: above each it says which place it is of.
  const bool brief = height() < kLow && shown && m_presenter->comparing();
  for (QWidget* line : {static_cast<QWidget*>(m_type), static_cast<QWidget*>(m_place)})
    line->setVisible(shown && !brief);
  m_nothing->setVisible(!shown);
  if (!shown) return;
  const core::TensorInfo& info = m_presenter->info();
  const core::Graph& graph = m_presenter->document().graph();
  const ValueAnswer* answer = m_presenter->answer();
  const QString device = text(answer ? answer->a.device : info.device);
  const QString type = text(replay::typeText(info)) + (device.isEmpty() ? "" : " · " + device) + " · " +
                       text(std::string(core::roleName(info.role)));
  const QString source = text(replay::sourceLine(graph.userFrame(replay::framesOf(graph, info.id))));
  m_type->setLine(type + " · " + source, text(info.fullName()) +
                                             (info.alias.empty() ? "" : "\n" + text(info.alias)) + "\n" +
                                             type + "\n" + source);
  QString place = m_presenter->placeText(Side::kA);
  QPalette colours = palette();
  if (answer) {
    place += answer->a.missing ? tr(" · value not available") : tr(" · stored");
    const core::TensorStatistics* s = answer->a.statistics ? &answer->a.statistics->values : nullptr;
    const std::int64_t nan = answer->a.missing ? (s ? s->nan : 0) : answer->nonFinite.nan;
    const std::int64_t inf =
        answer->a.missing ? (s ? s->inf() : 0) : answer->nonFinite.posInf + answer->nonFinite.negInf;
    if (nan) place += tr(" · %1 NaN").arg(text(replay::groupedNumber(nan)));
    if (inf) place += tr(" · %1 Inf").arg(text(replay::groupedNumber(inf)));
    if (nan || inf) colours.setColor(QPalette::WindowText, graphview::lookOf(palette()).fault);
  }
  m_place->setPalette(colours);
  m_place->setLine(place);
}

void TensorPanel::fillExportMenu(QMenu* menu) {
  menu->clear();
  const auto add = [&](const QString& label, const char* kind, const QString& filter, Side side) {
    QAction* action = menu->addAction(label);
    action->setEnabled(m_presenter && m_presenter->available(side));
    connect(action, &QAction::triggered, this, [this, kind, filter, side] { exportTo(kind, filter, side); });
  };
  add(tr("Whole tensor as NPY…"), "npy", tr("NumPy array (*.npy)"), Side::kA);
  add(tr("Shown slice as CSV…"), "csv", tr("Comma separated values (*.csv)"), Side::kA);
  add(tr("Picture as PNG…"), "png", tr("Picture (*.png)"), Side::kA);
  if (!m_presenter || !m_presenter->comparing()) return;
  menu->addSeparator();
  add(tr("Difference of the slice as CSV…"), "csv", tr("Comma separated values (*.csv)"), Side::kDifference);
  add(tr("Picture of the difference as PNG…"), "png", tr("Picture (*.png)"), Side::kDifference);
}

void TensorPanel::addQuestions(QMenu* menu, Side side) {
  menu->setToolTipsVisible(true);
  if (!m_presenter) return;
  const auto add = [&](Ask question, const QKeySequence& key = {}) {
    const Offer offer = m_presenter->offer(question, side);
    QAction* action = menu->addAction(offer.name);
    action->setObjectName(QStringLiteral("ask%1").arg(static_cast<int>(question)));
    action->setToolTip(offer.tip);
    action->setEnabled(offer.possible());
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);  // shown only: the table itself listens to it
    connect(action, &QAction::triggered, this, [this, question, side] { ask(question, side); });
  };
  add(Ask::kWhy, kWhyKey);
  add(Ask::kHistory, kHistoryKey);
  menu->addSeparator();
  for (const Ask question : {Ask::kProve, Ask::kFloat64, Ask::kRecheck}) add(question);
}

void TensorPanel::showCellMenu(Side side, const QPoint& at) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName("cellMenu");
  addQuestions(menu, side);
  menu->addSeparator();
  Document& document = m_presenter->document();
  addPlaceActions(*menu, *this, document, document.cursor().place());
  menu->popup(at);
}

// The panel that shows the answer is called first: so it is there when the answer is.
void TensorPanel::ask(Ask question, Side side) {
  if (!m_presenter) return;
  const Offer offer = m_presenter->offer(question, side);
  if (!offer.possible()) {
    emit status(QString(offer.tip).replace('\n', ' '));
    return;
  }
  emit panelWanted(QStringLiteral("answer"));
  m_presenter->document().questions().ask(offer);
}

void TensorPanel::exportTo(const QString& kind, const QString& filter, Side side) {
  if (!m_presenter || !m_presenter->hasTensor()) return;
  QString name = text(replay::tensorName(m_presenter->info()));
  name = name.section('/', -2).replace('/', '_') + "." + kind;
  // While the dialog is there, another run may take this one's place.
  const QPointer<TensorPresenter> asked = m_presenter.get();
  const QString file = QFileDialog::getSaveFileName(this, tr("Export"), name, filter);
  if (file.isEmpty() || !asked) return;
  say({});
  if (kind == "npy") m_presenter->exportNpy(file);
  if (kind == "csv") m_presenter->exportCsv(file, side);
  if (kind == "png")
    m_presenter->exportPng(file, side, m_pictures->colourMap(), signalColours(graphview::lookOf(palette())));
}

QJsonObject TensorPanel::state() const {
  return {{"tab", m_tabs->currentIndex()},
          {"colours", static_cast<int>(m_pictures->colourMap())},
          {"log", m_histogram->logarithmic()}};
}

void TensorPanel::restore(const QJsonObject& state) {
  m_tabs->setCurrentIndex(std::clamp(state["tab"].toInt(), 0, m_tabs->count() - 1));
  m_pictures->setColourMap(static_cast<ColourMap>(state["colours"].toInt()));
  m_histogram->setLogarithmic(state["log"].toBool());
}

PanelDef tensorPanel() {
  return {.id = "tensor",
          .title = "Tensor",
          .area = Qt::RightDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_3).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new TensorPanel(parent); },
          .keys = {{"Arrow keys", "from cell to cell"},
                   {"W", "why this value? Answered in Answer"},
                   {"H", "history of this element"}}};
}

}  // namespace msdbg::app
