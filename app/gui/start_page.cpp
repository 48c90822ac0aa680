#include "app/gui/start_page.h"

#include <QEvent>
#include <QFileInfo>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/gui/recent_runs.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {
namespace {

constexpr int kWidth = 640;

QLabel* bigLabel(const QString& text, qreal factor, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * factor);
  label->setFont(font);
  label->setWordWrap(true);
  return label;
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  setObjectName("startPage");
  auto* column = new QVBoxLayout;
  column->setSpacing(12);
  column->addWidget(bigLabel("msdbg", 2.2, this));
  column->addWidget(bigLabel("Open a recorded run: what went wrong first, and where?", 1.15, this));
  m_message = new QLabel(this);
  m_message->setObjectName("startMessage");
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_message->hide();
  column->addWidget(m_message);
  auto* open = new QPushButton("Open run…", this);
  open->setObjectName("openButton");
  open->setDefault(true);
  connect(open, &QPushButton::clicked, this, &StartPage::openWanted);
  auto* row = new QHBoxLayout;
  row->addWidget(open);
  row->addWidget(new QLabel("or drop a run folder (*.msdbg) on this window", this), 1);
  row->setSpacing(12);
  column->addLayout(row);
  m_recentTitle = new QLabel("Recent runs", this);
  column->addSpacing(8);
  column->addWidget(m_recentTitle);
  m_recent = new QListWidget(this);
  m_recent->setObjectName("recentRuns");
  m_recent->setAccessibleName("Recent runs");
  m_recent->setSpacing(3);
  connect(m_recent, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { emit runChosen(item->data(Qt::UserRole).toString()); });
  column->addWidget(m_recent, 100);
  auto* hint = new QLabel("To record one:  msdbg dump alexnet -n 2 --steps 12     (F1: keys)", this);
  hint->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(hint);
  column->addStretch(1);
  auto* centre = new QHBoxLayout(this);
  centre->setContentsMargins(24, 32, 24, 24);
  auto* box = new QWidget(this);
  column->setContentsMargins(0, 0, 0, 0);
  box->setLayout(column);
  box->setMaximumWidth(kWidth);
  centre->addWidget(box, 1);
  refresh();
}

void StartPage::refresh() {
  m_recent->clear();
  for (const QString& path : recentRuns()) {
    const QFileInfo info(path);
    auto* item = new QListWidgetItem(info.fileName() + "\n" + info.path(), m_recent);
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
    if (info.exists()) continue;
    item->setText(item->text() + "   (gone)");
    item->setForeground(graphview::lookOf(palette()).mutedText);
  }
  // As high as its rows: an empty frame would look as if something were missing.
  int high = 2 * m_recent->frameWidth();
  for (int row = 0; row < m_recent->count(); ++row)
    high += m_recent->sizeHintForRow(row) + 2 * m_recent->spacing();
  m_recent->setMaximumHeight(high);
  m_recentTitle->setVisible(m_recent->count() > 0);
  m_recent->setVisible(m_recent->count() > 0);
}

void StartPage::setMessage(const QString& message) {
  m_message->setText(message);
  QPalette colours = palette();
  colours.setColor(QPalette::WindowText, graphview::lookOf(palette()).fault);
  m_message->setPalette(colours);
  m_message->setVisible(!message.isEmpty());
}

void StartPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  refresh();
  setMessage(message());
}

QString StartPage::message() const { return m_message->text(); }

}  // namespace msdbg::app
