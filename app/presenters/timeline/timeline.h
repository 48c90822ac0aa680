// Timeline: a quantity over the iterations, one line per rank, and where the findings are. Reads each series
// once, in short pieces between which other questions are answered; a move of the position reads nothing. UI
// thread only; lives no longer than the document.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <list>

#include "app/presenters/document.h"
#include "app/presenters/timeline/series.h"

namespace msdbg::app {

struct TimelinePoint {
  core::Iteration iteration;
  std::optional<double> value;  // may be NaN or Inf; none: not recorded
};
struct TimelineLine {
  core::Rank rank;
  std::vector<TimelinePoint> points;  // by iteration
};

/// The hits of one iteration.
struct TimelineMark {
  core::Iteration iteration;
  bool fault = false;   // else only hints
  std::size_t hit = 0;  // in Findings::hits(): the first of the worst kind
  std::size_t count = 0;
  QString text;  // the first few, a line each
};

class Timeline : public QObject {
  Q_OBJECT
 public:
  explicit Timeline(Document& document, QObject* parent = nullptr);

  const std::vector<Quantity>& quantities() const { return m_quantities; }
  const Quantity& quantity() const { return m_quantities[m_quantity]; }
  /// Unknown ids are ignored.
  void setQuantity(const QString& id);
  /// "loss", "mean |x| of network/conv1/Conv-op1"
  QString title() const;

  const std::vector<TimelineLine>& lines() const { return m_lines; }  // as far as read
  bool reading() const { return m_reading; }
  /// Why lines are missing: nothing selected, not recorded (and what records it), damaged; "" when all is
  /// well.
  const QString& message() const { return m_message; }
  /// Of the line of a rank; none where there is no point.
  std::optional<double> valueAt(core::Rank rank, core::Iteration iteration) const;

  const std::vector<TimelineMark>& marks() const { return m_marks; }
  /// Where a click on a mark goes.
  Place placeOf(const TimelineMark& mark) const;
  /// `msdbg info RUN` for scalars, `msdbg stats RUN --tensor T`; "" without a tensor.
  QString command() const;

 signals:
  void quantitiesChanged();  // a run that grows has others
  void linesChanged();       // lines, title or message; several times while reading
  void quantityChanged();    // another quantity or tensor: the old zoom means nothing
  void marksChanged();

 private:
  std::optional<SeriesKey> wantedKey() const;
  Series& seriesOf(const SeriesKey& key);
  void choose();
  void grow();
  void takeQuantities();
  void readOn();
  void arrived(const Series& piece);
  void rebuildLines();
  QString messageOf(const Series& series) const;
  void findingsChanged();

  Document& m_document;
  std::shared_ptr<const RunFacts> m_facts;  // those that lines were last read with
  std::vector<Quantity> m_quantities;
  std::size_t m_quantity = 0;
  QString m_wanted;            // chosen by the user or the session; a run may lack it, or not have it yet
  std::list<Series> m_series;  // newest first; the first is shown when m_key is set
  std::optional<SeriesKey> m_key;
  std::vector<TimelineLine> m_lines;
  QString m_message;
  bool m_reading = false;
  QElapsedTimer m_sinceShown;
  std::vector<TimelineMark> m_marks;
  int m_markedReport = 0;
};

}  // namespace msdbg::app
