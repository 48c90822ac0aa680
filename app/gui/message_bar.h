// MessageBar: one line across the window that says what is wrong with the run as a whole, until it is closed.
#pragma once

#include <QFrame>

class QLabel;

namespace msdbg::app {

class MessageBar : public QFrame {
  Q_OBJECT
 public:
  explicit MessageBar(QWidget* parent = nullptr);
  /// "" hides it. `details`: more words, as a tool tip.
  void say(const QString& message, const QString& details = {});
  QString message() const;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paintColours();
  QLabel* m_text;
};

}  // namespace msdbg::app
