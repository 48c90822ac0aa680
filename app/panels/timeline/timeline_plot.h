// TimelinePlot: draws lines, findings and the cursor, and says what was clicked. It knows no document. UI
// thread only.
#pragma once

#include <qcustomplot.h>

#include <functional>

#include "app/presenters/timeline/timeline.h"
#include "graph_view/scene/look.h"

namespace msdbg::app {

class TimelinePlot : public QCustomPlot {
  Q_OBJECT
 public:
  explicit TimelinePlot(QWidget* parent = nullptr);

  void setLook(const graphview::Look& look);
  /// How an iteration is called beside its number: "7 (step 5007)".
  void setIterationText(std::function<QString(core::Iteration)> text) { m_iterationText = std::move(text); }
  /// The zoom stays as it is until fit().
  void setLines(const std::vector<TimelineLine>& lines);
  void setMarks(const std::vector<TimelineMark>& marks);
  /// value: of the rank's line there; none where nothing was recorded.
  void setCursor(core::Rank rank, core::Iteration iteration, std::optional<double> value);
  void setLogarithmic(bool on);
  bool logarithmic() const { return m_logarithmic; }
  void fit();
  /// All iterations are seen, because of fit(): nobody has zoomed or moved since.
  bool fitted() const { return m_fitted; }

 signals:
  void clicked(msdbg::core::Iteration iteration, std::optional<msdbg::core::Rank> rank);  // of a line near by
  void markClicked(std::size_t mark);

 private:
  struct Drawn {
    core::Rank rank;
    QCPGraph* line = nullptr;
    QCPGraph* nonFinite = nullptr;  // marks at the top
    QVector<double> keys, values;   // those recorded; values may be NaN or Inf
  };
  void makeAxes();
  void makeCursor();
  void makeLegend();
  void makeGraphs(std::size_t count);
  void draw(Drawn& drawn, std::size_t place);
  void applyColors();
  void nameNonFinite();
  void fitValues();
  void fitTicks(double low, double high);
  void placeCursor();
  void released(const QMouseEvent& event);
  void hovered(const QMouseEvent& event);
  std::optional<std::size_t> markAt(const QPointF& position) const;
  /// The drawn point nearest to a position: line and index in it, within a few pixels.
  std::optional<std::pair<std::size_t, qsizetype>> pointAt(const QPointF& position) const;
  double heightOf(const Drawn& drawn, qsizetype index) const;  // in pixels; non-finite ones are at the top

  QString placeText(core::Iteration iteration, core::Rank rank, const std::optional<double>& value) const;
  QString iterationText(core::Iteration iteration) const;

  std::function<QString(core::Iteration)> m_iterationText;
  graphview::Look m_look;
  bool m_logarithmic = false;
  std::vector<Drawn> m_drawn;
  std::vector<TimelineMark> m_marks;
  QCPGraph *m_faults = nullptr, *m_hints = nullptr;
  QCPItemLine* m_cursorLine = nullptr;
  QCPItemTracer* m_cursorPoint = nullptr;
  QCPItemText *m_cursorText = nullptr, *m_topText = nullptr;
  core::Rank m_rank;
  core::Iteration m_iteration;
  std::optional<double> m_value;
  QPoint m_pressed;
  bool m_fitted = false, m_fitting = false;
};

}  // namespace msdbg::app
