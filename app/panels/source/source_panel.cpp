#include "app/panels/source/source_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QIntValidator>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "app/panels/builtin_panels.h"
#include "app/panels/elided_label.h"
#include "app/panels/source/frame_delegate.h"
#include "app/panels/source/source_view.h"

namespace msdbg::app {
namespace {

constexpr int kMargin = 8;
constexpr int kFramesHeight = 120;  // at first: about five frames

// Long words (paths, hashes) may break anywhere: they must not widen the panel.
QString breakable(QString text) {
  static const QRegularExpression kLongWord(QStringLiteral("(\\S{20})(?=\\S)"));
  return text.replace(kLongWord, QStringLiteral("\\1\u200b"));
}

QToolButton* stepButton(QWidget* parent, const char* name, Qt::ArrowType arrow, const QString& tip) {
  auto* button = new QToolButton(parent);
  button->setObjectName(name);
  button->setArrowType(arrow);
  button->setAutoRaise(true);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  return button;
}

}  // namespace

SourcePanel::SourcePanel(QWidget* parent)
    : Panel(parent),
      m_files(new QComboBox),
      m_asked(new QLineEdit),
      m_stack(new QStackedWidget),
      m_view(new SourceView(m_stack)),
      m_hint(new QLabel),
      m_splitter(new QSplitter(Qt::Vertical)) {
  m_view->setObjectName("sourceView");
  m_view->setAccessibleName(tr("Source text"));
  m_view->setToolTips(
      [this](std::int32_t line) { return m_presenter ? m_presenter->toolTip(line) : QString(); });
  m_hint->setObjectName("sourceHint");
  m_hint->setWordWrap(true);
  m_hint->setTextFormat(Qt::PlainText);
  m_hint->setAlignment(Qt::AlignCenter);
  m_hint->setMargin(2 * kMargin);
  m_stack->addWidget(m_hint);
  m_stack->addWidget(m_view);
  m_splitter->setObjectName("sourceSplitter");
  m_splitter->setChildrenCollapsible(false);
  m_splitter->addWidget(m_stack);
  m_splitter->addWidget(makeFrames());
  m_splitter->setStretchFactor(0, 1);
  m_splitter->setSizes({4 * kFramesHeight, kFramesHeight});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(makeBar());
  layout->addWidget(m_splitter, 1);
  connect(m_view, &SourceView::lineChosen, this, [this](int line) {
    if (m_presenter) m_presenter->selectLine(line);
  });
  addKeys();
  setDocument(nullptr);
}

SourcePanel::~SourcePanel() = default;

QWidget* SourcePanel::makeBar() {
  auto* bar = new QWidget;
  m_files->setObjectName("sourceFiles");
  m_files->setAccessibleName(tr("Source file"));
  m_files->setMinimumContentsLength(8);
  m_files->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_asked->setObjectName("sourceGoToLine");
  m_asked->setAccessibleName(tr("Go to line"));
  m_asked->setPlaceholderText(tr("line"));
  m_asked->setMaximumWidth(80);
  m_asked->setValidator(new QIntValidator(1, 9'999'999, m_asked));
  m_asked->installEventFilter(this);
  m_asked->hide();
  auto* up = stepButton(bar, "sourcePrevious", Qt::UpArrow, tr("Previous line with nodes (Alt+Up)"));
  auto* down = stepButton(bar, "sourceNext", Qt::DownArrow, tr("Next line with nodes (Alt+Down)"));
  auto* layout = new QHBoxLayout(bar);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(4);
  layout->addWidget(m_files, 1);
  layout->addWidget(m_asked);
  layout->addWidget(up);
  layout->addWidget(down);
  connect(m_files, &QComboBox::activated, this, [this](int index) {
    if (m_presenter) m_presenter->showFile(index);
  });
  connect(m_asked, &QLineEdit::returnPressed, this, &SourcePanel::goToAskedLine);
  connect(up, &QToolButton::clicked, this, [this] { stepLine(-1); });
  connect(down, &QToolButton::clicked, this, [this] { stepLine(1); });
  return bar;
}

QWidget* SourcePanel::makeFrames() {
  m_framesBox = new QWidget;
  m_framesTitle = new ElidedLabel;
  m_framesTitle->setObjectName("sourceFramesTitle");
  m_framesTitle->setContentsMargins(kMargin, 3, kMargin, 3);
  m_framesTitle->setElideMode(Qt::ElideMiddle);
  m_frames = new QTreeView;
  m_frames->setObjectName("sourceFrames");
  m_frames->setAccessibleName(tr("Source frames of the selected node"));
  m_frames->setIndentation(kMargin - 2);  // below the title
  m_frames->setItemsExpandable(false);
  m_frames->setUniformRowHeights(true);
  m_frames->setHeaderHidden(true);
  m_frames->setFrameShape(QFrame::NoFrame);
  m_frames->setItemDelegate(new FrameDelegate(m_frames));
  m_frames->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_frames->header()->setStretchLastSection(true);
  const auto go = [this](const QModelIndex& index) {
    if (m_presenter) m_presenter->goToFrame(index.row());
  };
  connect(m_frames, &QTreeView::clicked, this, go);
  connect(m_frames, &QTreeView::activated, this, go);
  auto* layout = new QVBoxLayout(m_framesBox);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_framesTitle);
  layout->addWidget(m_frames, 1);
  return m_framesBox;
}

void SourcePanel::addKeys() {
  const auto add = [this](QKeySequence keys, auto slot) {
    connect(new QShortcut(keys, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
            &QShortcut::activated, this, slot);
  };
  add(Qt::ALT | Qt::Key_Up, [this] { stepLine(-1); });
  add(Qt::ALT | Qt::Key_Down, [this] { stepLine(1); });
  add(Qt::CTRL | Qt::Key_G, [this] { askLine(); });
}

void SourcePanel::setDocument(Document* document) {
  m_frames->setModel(nullptr);
  m_presenter.reset();
  m_document = document;
  if (document) {
    m_presenter = std::make_unique<SourcePresenter>(*document);
    m_frames->setModel(&m_presenter->frames());
    connect(m_presenter.get(), &SourcePresenter::fileChanged, this, &SourcePanel::showFile);
    connect(m_presenter.get(), &SourcePresenter::marksChanged, this, &SourcePanel::showMarks);
    connect(m_presenter.get(), &SourcePresenter::lineChanged, this, &SourcePanel::showLine);
    connect(m_presenter.get(), &SourcePresenter::framesChanged, this, &SourcePanel::showFrames);
    connect(m_presenter.get(), &SourcePresenter::message, this, &Panel::status);
  }
  m_asked->hide();
  fillFiles();
  showFile();
  showFrames();
}

void SourcePanel::fillFiles() {
  m_files->clear();
  m_files->setEnabled(m_presenter != nullptr);
  if (!m_presenter) return;
  for (const SourceFile& file : m_presenter->files()) {
    m_files->addItem(file.missing.isEmpty() ? file.title : tr("%1 (no copy)").arg(file.title));
    m_files->setItemData(m_files->count() - 1, QString::fromStdString(file.path), Qt::ToolTipRole);
  }
}

void SourcePanel::showFile() {
  const int index = m_presenter ? m_presenter->file() : -1;
  m_files->setCurrentIndex(index);
  if (index < 0) {
    m_files->setToolTip({});
    m_view->setSource({}, {});
    m_hint->setText(m_presenter ? tr("The nodes of this run name no source file.")
                                : tr("Open a run to see its source."));
    m_stack->setCurrentWidget(m_hint);
    return;
  }
  const SourceFile& file = m_presenter->files()[static_cast<std::size_t>(index)];
  m_files->setToolTip(QString::fromStdString(file.path));
  m_hint->setText(breakable(file.missing));
  m_view->setSource(m_presenter->text(), file.path);
  m_view->setNodeCounts(file.missing.isEmpty() ? m_presenter->nodeCounts() : LineIndex::Counts());
  m_stack->setCurrentWidget(file.missing.isEmpty() ? static_cast<QWidget*>(m_view) : m_hint);
  showMarks();
  showLine();
}

void SourcePanel::showMarks() { m_view->setMarks(m_presenter->marks()); }

void SourcePanel::showLine() { m_view->setLine(m_presenter->line()); }

void SourcePanel::showFrames() {
  const QString title = m_presenter ? m_presenter->framesTitle() : QString();
  m_framesBox->setVisible(!title.isEmpty());
  if (title.isEmpty()) return;
  m_framesTitle->setLine(title, title);
  const int row = m_presenter->currentFrame();
  if (row < 0)
    m_frames->selectionModel()->clear();
  else
    m_frames->setCurrentIndex(m_presenter->frames().index(row, 0));
}

void SourcePanel::stepLine(int direction) {
  if (!m_presenter) return;
  const std::int32_t next = m_presenter->lineWithNodes(m_view->caretLine(), direction);
  if (next > 0) m_view->goTo(next);
}

void SourcePanel::askLine() {
  if (!m_presenter) return;
  m_asked->clear();
  m_asked->show();
  m_asked->setFocus();
}

void SourcePanel::goToAskedLine() {
  const int line = m_asked->text().toInt();
  m_asked->hide();
  m_view->setFocus();
  m_view->goTo(std::clamp(line, 1, m_view->lines()));
}

bool SourcePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_asked) return Panel::eventFilter(watched, event);
  const bool escape =
      event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape;
  if (escape) m_view->setFocus();
  if (escape || event->type() == QEvent::FocusOut) m_asked->hide();
  return escape;
}

QString SourcePanel::command() const {
  const QString query = m_presenter ? m_presenter->query() : QString();
  return query.isEmpty()
             ? QString()
             : QStringLiteral("msdbg search %1 %2").arg(m_document->runArgument(), shellQuoted(query));
}

void SourcePanel::takeFocus() { m_view->setFocus(Qt::ShortcutFocusReason); }

QJsonObject SourcePanel::state() const {
  return {{"splitter", QString::fromLatin1(m_splitter->saveState().toBase64())}};
}

void SourcePanel::restore(const QJsonObject& state) {
  m_splitter->restoreState(QByteArray::fromBase64(state["splitter"].toString().toLatin1()));
}

PanelDef sourcePanel() {
  return {.id = "source",
          .title = "Source",
          .area = Qt::LeftDockWidgetArea,
          .shortcut = (Qt::CTRL | Qt::Key_2).toCombined(),
          .make = [](QWidget* parent) -> Panel* { return new SourcePanel(parent); },
          .keys = {{"Enter, click in the margin", "select the nodes of the line"},
                   {"Alt+Up, Alt+Down", "the line with nodes above, below"},
                   {"Ctrl+G", "go to a line"}}};
}

}  // namespace msdbg::app
