// StartPage: what the window shows without a run: recent ones, a button, and why the last one did not open.
#pragma once

#include <QWidget>

class QLabel;
class QListWidget;

namespace msdbg::app {

class StartPage : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* parent = nullptr);
  void refresh();                           // reads the recent runs again
  void setMessage(const QString& message);  // "" hides it
  QString message() const;

 protected:
  void changeEvent(QEvent* event) override;

 signals:
  void runChosen(const QString& path);
  void openWanted();

 private:
  QLabel* m_message;
  QLabel* m_recentTitle;
  QListWidget* m_recent;
};

}  // namespace msdbg::app
