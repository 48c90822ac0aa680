#include "app/gui/message_bar.h"

#include <QApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "graph_view/scene/look.h"

namespace msdbg::app {

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), m_text(new QLabel(this)) {
  setObjectName("messageBar");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(10, 4, 4, 4);
  m_text->setObjectName("messageText");
  m_text->setWordWrap(true);
  m_text->setMinimumWidth(1);            // else its longest word is the least width of the window
  m_text->setTextFormat(Qt::PlainText);  // names of the run may look like HTML
  m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row->addWidget(m_text, 1);
  auto* close = new QToolButton(this);
  close->setText("✕");
  close->setAutoRaise(true);
  close->setAccessibleName("Hide this message");
  close->setToolTip("Hide this message");
  connect(close, &QToolButton::clicked, this, [this] { say({}); });
  row->addWidget(close, 0, Qt::AlignTop);
  setAutoFillBackground(true);
  paintColours();
  hide();
}

void MessageBar::say(const QString& message, const QString& details) {
  constexpr qsizetype kMost = 2000;
  m_text->setText(
      message.size() <= kMost
          ? message
          : QStringLiteral("%1… (%2 more characters)").arg(message.left(kMost)).arg(message.size() - kMost));
  m_text->setToolTip(details);
  setVisible(!message.isEmpty());
}

QString MessageBar::message() const { return m_text->text(); }

void MessageBar::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paintColours();  // the second time nothing changes
}

// The background leans towards the colour of faults; the text keeps its contrast. From the application's
// palette: the parent may not have the new one yet.
void MessageBar::paintColours() {
  const QPalette application = QApplication::palette();
  const QColor fault = graphview::lookOf(application).fault, window = application.color(QPalette::Window);
  const auto mixed = [](int a, int b) { return (a * 1 + b * 4) / 5; };
  QPalette colours;
  colours.setColor(QPalette::Window,
                   QColor(mixed(fault.red(), window.red()), mixed(fault.green(), window.green()),
                          mixed(fault.blue(), window.blue())));
  setPalette(colours);
}

}  // namespace msdbg::app
