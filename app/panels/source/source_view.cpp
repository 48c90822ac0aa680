#include "app/panels/source/source_view.h"

#include <Qsci/qscistyle.h>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>

#include "app/panels/source/source_colors.h"

namespace msdbg::app {
namespace {

enum Margin { kNumbers, kCounts, kHits, kMargins };
// Scintilla shows the background of the highest marker of a line.
enum Marker { kNodesMarker, kLineMarker, kHintMarker, kFaultMarker, kFirstMarker };
constexpr int kHitMarkers = (1 << kHintMarker) | (1 << kFaultMarker) | (1 << kFirstMarker);
constexpr int kCountStyle = 60;  // beyond the styles of the lexers
constexpr int kComfort = 2;      // lines that should still be seen around the current one

// Told apart without their colours too: a disc for faults, with a ring for the first of all; a triangle for
// hints.
QImage hitMark(Marker marker, const QColor& color, int side, double ratio) {
  QImage picture(QSize(side, side) * ratio, QImage::Format_ARGB32);
  picture.setDevicePixelRatio(ratio);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  const QRectF all(0, 0, side, side);
  const double ring = marker == kFirstMarker ? 3 : 2;
  if (marker == kHintMarker)
    painter.drawPolygon(QPolygonF({{side / 2.0, 1}, {side - 1.0, side - 1.0}, {1, side - 1.0}}));
  else
    painter.drawEllipse(all.adjusted(ring, ring, -ring, -ring));
  if (marker != kFirstMarker) return picture;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, 1.5));
  painter.drawEllipse(all.adjusted(1, 1, -1, -1));
  return picture;
}

}  // namespace

SourceView::SourceView(QWidget* parent) : QsciScintilla(parent) {
  setReadOnly(true);
  setUtf8(true);
  setMargins(kMargins);
  setMarginType(kNumbers, NumberMargin);
  setMarginType(kCounts, TextMarginRightJustified);
  setMarginType(kHits, SymbolMarginColor);
  for (int margin = 0; margin < kMargins; ++margin) {
    setMarginSensitivity(margin, true);
    setMarginMarkerMask(margin, margin == kHits ? kHitMarkers : 0);
  }
  setMarginOptions(MoNone);
  markerDefine(Background, kNodesMarker);
  markerDefine(Background, kLineMarker);
  setWrapMode(WrapNone);
  setExtraAscent(1);
  setExtraDescent(1);
  SendScintilla(SCI_SETSCROLLWIDTH, 1);
  SendScintilla(SCI_SETSCROLLWIDTHTRACKING, 1);
  SendScintilla(SCI_USEPOPUP, 0);  // Undo, Cut and Paste mean nothing here
  setFrameShape(QFrame::NoFrame);
  connect(this, &QsciScintilla::marginClicked, this,
          [this](int, int line, Qt::KeyboardModifiers) { emit lineChosen(line + 1); });
  applyLook();
}

void SourceView::setSource(const QString& text, const std::string& path) {
  m_line = 0;
  m_counts.clear();
  QsciLexer* old = lexer();
  setLexer(lexerFor(path, this));
  delete old;
  setText(text);
  setMarginWidth(kNumbers, " " + QString::number(lines()));
  applyLook();
}

void SourceView::setNodeCounts(const LineIndex::Counts& counts) {
  m_counts = counts;
  showCounts();
}

void SourceView::showCounts() {
  const graphview::Look look = graphview::lookOf(palette());
  const QsciStyle style(kCountStyle, QStringLiteral("node count"), look.mutedText, look.background, font());
  clearMarginText();
  markerDeleteAll(kNodesMarker);
  int most = 0;
  for (const auto& [line, count] : m_counts) {
    if (line > lines()) continue;  // the copy is shorter than the file that was compiled
    setMarginText(line - 1, QString::number(count), style);
    markerAdd(line - 1, kNodesMarker);
    most = std::max(most, count);
  }
  setMarginWidth(kCounts, most ? " " + QString::number(most) : QString());
}

void SourceView::setMarks(const std::map<std::int32_t, LineMark>& marks) {
  markerDeleteAll(kHintMarker);
  markerDeleteAll(kFaultMarker);
  markerDeleteAll(kFirstMarker);
  for (const auto& [line, mark] : marks)
    if (line <= lines())
      markerAdd(line - 1, mark.first ? kFirstMarker : mark.faults ? kFaultMarker : kHintMarker);
}

std::int32_t SourceView::caretLine() const {
  int line = 0, column = 0;
  getCursorPosition(&line, &column);
  return line + 1;
}

void SourceView::setLine(std::int32_t line) {
  markerDeleteAll(kLineMarker);
  m_line = line <= lines() ? line : 0;
  if (m_line == 0) return;
  markerAdd(m_line - 1, kLineMarker);
  goTo(m_line);
}

void SourceView::goTo(std::int32_t line) {
  const auto top = SendScintilla(SCI_GETFIRSTVISIBLELINE);
  SendScintilla(SCI_SETEMPTYSELECTION, SendScintilla(SCI_POSITIONFROMLINE, line - 1));
  SendScintilla(SCI_SETFIRSTVISIBLELINE, top);
  bring(line);
}

void SourceView::bring(std::int32_t line) {
  const auto top = static_cast<int>(SendScintilla(SCI_GETFIRSTVISIBLELINE));
  const auto shown = static_cast<int>(SendScintilla(SCI_LINESONSCREEN));
  const bool seen = line - 1 >= top + kComfort && line - 1 < top + shown - kComfort;
  if (!seen) SendScintilla(SCI_SETFIRSTVISIBLELINE, std::max(0, line - 1 - shown / 2));
}

void SourceView::applyLook() {
  const graphview::Look look = graphview::lookOf(palette());
  const QFont font = sourceFont();
  setFont(font);
  setColor(look.text);
  setPaper(look.background);
  if (lexer()) colour(*lexer(), look, font);
  setCaretForegroundColor(look.text);
  setSelectionBackgroundColor(palette().color(QPalette::Highlight));
  setSelectionForegroundColor(palette().color(QPalette::HighlightedText));
  setMarginsFont(font);
  setMarginsForegroundColor(look.mutedText);
  setMarginsBackgroundColor(look.background);
  setMarginBackgroundColor(kHits, look.background);
  setMarkers(look);
  showCounts();
}

void SourceView::setMarkers(const graphview::Look& look) {
  setMarkerBackgroundColor(mixed(look.background, look.ranks[0], look.dark ? 0.09 : 0.06), kNodesMarker);
  setMarkerBackgroundColor(mixed(look.background, look.selection, look.dark ? 0.65 : 0.28), kLineMarker);
  const int side = fontMetrics().ascent() + 1;
  // It places a QPixmap by its device pixels, half a line too high where there are two to a pixel; of an
  // image it knows the scale.
  SendScintilla(SCI_RGBAIMAGESETSCALE, qRound(100 * devicePixelRatioF()));
  for (const Marker marker : {kHintMarker, kFaultMarker, kFirstMarker})
    markerDefine(hitMark(marker, marker == kHintMarker ? look.hint : look.fault, side, devicePixelRatioF()),
                 marker);
  setMarginWidth(kHits, fontMetrics().height());
}

bool SourceView::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QsciScintilla::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int line = lineAt(help->pos());
  QToolTip::showText(help->globalPos(), line < 0 || !m_toolTip ? QString() : m_toolTip(line + 1), this);
  return true;
}

void SourceView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
    emit lineChosen(caretLine());
  else
    QsciScintilla::keyPressEvent(event);
}

void SourceView::changeEvent(QEvent* event) {
  QsciScintilla::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyLook();
}

// The first size comes after the document.
void SourceView::resizeEvent(QResizeEvent* event) {
  QsciScintilla::resizeEvent(event);
  if (m_line > 0) bring(m_line);
}

}  // namespace msdbg::app
