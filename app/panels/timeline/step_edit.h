// StepEdit: a number of the user's own steps, to be seen and typed; arrows go along what was recorded. Steps
// may be larger than what a QSpinBox holds. UI thread only.
#pragma once

#include <QAbstractSpinBox>
#include <optional>

namespace msdbg::app {

class StepEdit : public QAbstractSpinBox {
  Q_OBJECT
 public:
  explicit StepEdit(QWidget* parent = nullptr);
  /// nullopt: the iteration has none. `widest`: the one that takes the most room.
  void setStep(std::optional<qint64> step, qint64 widest);
  QSize sizeHint() const override;

 signals:
  void typed(qint64 step);  // Enter, or the field was left: any number
  void stepped(int by);     // arrows

 protected:
  void stepBy(int by) override { emit stepped(by); }
  StepEnabled stepEnabled() const override { return StepUpEnabled | StepDownEnabled; }
  QValidator::State validate(QString& input, int& position) const override;

 private:
  void finish();
  QString m_shown;
  qint64 m_widest = 0;
};

}  // namespace msdbg::app
