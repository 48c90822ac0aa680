// Where a margin of the source view is beside a line that can be seen: the point that a user would click.
#pragma once

#include <Qsci/qsciscintilla.h>

#include <QPoint>

namespace msdbg::test {

inline QPoint marginAt(const QsciScintilla& view, int margin, int line) {
  const long position = view.SendScintilla(QsciScintilla::SCI_POSITIONFROMLINE, line - 1);
  const long y = view.SendScintilla(QsciScintilla::SCI_POINTYFROMPOSITION, 0, position);
  const long height = view.SendScintilla(QsciScintilla::SCI_TEXTHEIGHT, line - 1);
  int x = view.marginWidth(margin) / 2;
  for (int before = 0; before < margin; ++before) x += view.marginWidth(before);
  return {x, static_cast<int>(y + height / 2)};
}

}  // namespace msdbg::test
