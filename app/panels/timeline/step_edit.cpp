#include "app/panels/timeline/step_edit.h"

#include <QLineEdit>
#include <QRegularExpression>
#include <QStyleOptionSpinBox>

namespace msdbg::app {

StepEdit::StepEdit(QWidget* parent) : QAbstractSpinBox(parent) {
  connect(this, &QAbstractSpinBox::editingFinished, this, &StepEdit::finish);
}

void StepEdit::setStep(std::optional<qint64> step, qint64 widest) {
  m_shown = step ? QString::number(*step) : QString();
  lineEdit()->setText(m_shown);
  if (widest == m_widest) return;
  m_widest = widest;
  updateGeometry();
}

QSize StepEdit::sizeHint() const {
  QStyleOptionSpinBox option;
  initStyleOption(&option);
  const int width = fontMetrics().horizontalAdvance(QString::number(m_widest) + QLatin1Char('0'));
  return style()->sizeFromContents(QStyle::CT_SpinBox, &option, QSize(width, lineEdit()->sizeHint().height()),
                                   this);
}

QValidator::State StepEdit::validate(QString& input, int&) const {
  static const QRegularExpression kNumber(QStringLiteral("^-?\\d{1,18}$"));
  if (kNumber.match(input).hasMatch()) return QValidator::Acceptable;
  return input.isEmpty() || input == QLatin1String("-") ? QValidator::Intermediate : QValidator::Invalid;
}

// Also where nothing was typed: the focus left.
void StepEdit::finish() {
  bool ok = false;
  const qint64 step = lineEdit()->text().toLongLong(&ok);
  if (ok && lineEdit()->text() != m_shown)
    emit typed(step);
  else
    lineEdit()->setText(m_shown);
}

}  // namespace msdbg::app
