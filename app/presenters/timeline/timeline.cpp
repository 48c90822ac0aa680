#include "app/presenters/timeline/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "app/presenters/findings/finding_text.h"
#include "replay/describe.h"

namespace msdbg::app {
namespace {

constexpr int kPieceMs = 15;       // a quick question waits no longer for a timeline
constexpr int kShowEveryMs = 100;  // partial lines
constexpr std::size_t kKeptBytes = 64 << 20;
constexpr std::size_t kMarkLines = 5;

/// Said now and then: a line goes from one to the next, also where an iteration is not recorded. It reaches
/// over the whole run, where the cursor may stand.
std::vector<TimelinePoint> pointsOfMetric(const std::vector<std::pair<core::Iteration, double>>& values,
                                          const std::vector<core::Iteration>& recorded) {
  std::vector<TimelinePoint> points;
  for (const auto& [iteration, value] : values) points.push_back({iteration, value});
  if (recorded.empty() || points.empty()) return points;
  if (recorded.front() < points.front().iteration) points.insert(points.begin(), {recorded.front(), {}});
  if (points.back().iteration < recorded.back()) points.push_back({recorded.back(), {}});
  return points;
}

}  // namespace

Timeline::Timeline(Document& document, QObject* parent)
    : QObject(parent),
      m_document(document),
      m_facts(document.sharedFacts()),
      m_quantities(quantitiesOf(document.facts())) {
  connect(&document, &Document::grew, this, &Timeline::grow);
  connect(&document.cursor(), &Cursor::selectionChanged, this, [this] {
    if (quantity().ofTensor && wantedKey() != m_key) choose();
  });
  connect(&document.findings(), &Findings::changed, this, &Timeline::findingsChanged);
  findingsChanged();
  choose();
}

void Timeline::setQuantity(const QString& id) {
  m_wanted = id;
  const auto found = std::ranges::find(m_quantities, id, &Quantity::id);
  if (found == m_quantities.end() || found->id == quantity().id) return;
  m_quantity = static_cast<std::size_t>(found - m_quantities.begin());
  choose();
}

// What is read stays; only a rank whose iterations are not those of before with more behind them is read
// anew.
void Timeline::grow() {
  const auto before = std::exchange(m_facts, m_document.sharedFacts());
  const bool onlyMore = std::ranges::all_of(before->iterations, [this](const auto& entry) {
    const auto now = m_facts->iterations.find(entry.first);
    const auto& old = entry.second;
    return now != m_facts->iterations.end() && now->second.size() >= old.size() &&
           (old.empty() || now->second[old.size() - 1] == old.back());
  });
  if (!onlyMore) m_series.clear();
  if (before->metrics != m_facts->metrics)  // their values come after their iterations
    std::erase_if(m_series,
                  [&](const Series& series) { return m_facts->metrics.contains(series.key.scalar); });
  for (Series& series : m_series) series.complete = series.covers(*m_facts);
  if (before->scalars != m_facts->scalars) return takeQuantities();
  if (!onlyMore || (m_key && (m_series.empty() || m_series.front().key != *m_key))) return choose();
  if (!m_key || m_reading || m_series.front().complete) return;
  m_sinceShown.start();
  readOn();
}

// The first segment has come: the loss comes first, unless something else was chosen.
void Timeline::takeQuantities() {
  m_quantities = quantitiesOf(*m_facts);
  const auto found = std::ranges::find(m_quantities, m_wanted, &Quantity::id);
  m_quantity = found == m_quantities.end() ? 0 : static_cast<std::size_t>(found - m_quantities.begin());
  emit quantitiesChanged();
  choose();
}

QString Timeline::title() const {
  if (!quantity().ofTensor) return quantity().title;
  const core::TensorId tensor = m_document.cursor().tensor();
  if (!tensor.valid()) return quantity().title;
  return quantity().title + " of " +
         QString::fromStdString(replay::tensorName(m_document.graph().tensor(tensor)));
}

std::optional<SeriesKey> Timeline::wantedKey() const {
  if (!quantity().ofTensor) return SeriesKey{{}, quantity().scalar};
  const core::TensorId tensor = m_document.cursor().tensor();
  return tensor.valid() ? std::optional(SeriesKey{tensor, {}}) : std::nullopt;
}

// Moves the series to the front, or makes it; the oldest ones go when they are too many.
Series& Timeline::seriesOf(const SeriesKey& key) {
  const auto found = std::ranges::find(m_series, key, &Series::key);
  if (found != m_series.end())
    m_series.splice(m_series.begin(), m_series, found);
  else
    m_series.push_front({key, {}, false, {}, false});
  std::size_t bytes = 0;
  for (auto series = m_series.begin(); series != m_series.end();) {
    bytes += series->bytes();
    series = series != m_series.begin() && bytes > kKeptBytes ? m_series.erase(series) : std::next(series);
  }
  return m_series.front();
}

void Timeline::choose() {
  m_document.replay().cancel(this, "series");
  m_reading = false;
  m_key = wantedKey();
  if (m_key && !seriesOf(*m_key).complete) {
    m_sinceShown.start();
    readOn();
  }
  rebuildLines();
  emit quantityChanged();
  emit linesChanged();
}

// On the quick lane: a check of the long lane lets the pieces in between, and they are too short to be in the
// way of anything else.
void Timeline::readOn() {
  const Series& series = m_series.front();
  m_reading = true;
  using Piece = core::Result<Series>;
  m_document.replay().ask(
      this, "series",
      [facts = m_document.sharedFacts(), key = series.key, from = series.end()](
          replay::Run& run, const core::CancelToken& cancel) -> Piece {
        return readPiece(run, cancel, *facts, key, from, kPieceMs);
      },
      [this](Piece piece) {
        if (piece.ok()) {
          arrived(*piece);
          return;
        }
        m_reading = false;
        m_message = QString::fromStdString(piece.error().message());
        emit linesChanged();
      });
}

void Timeline::arrived(const Series& piece) {
  Series& series = m_series.front();
  series.append(piece);
  series.complete = series.covers(m_document.facts());  // it may have grown meanwhile
  m_reading = !series.complete;
  if (m_reading) readOn();
  if (m_reading && m_sinceShown.elapsed() < kShowEveryMs) return;
  m_sinceShown.start();
  rebuildLines();
  emit linesChanged();
}

void Timeline::rebuildLines() {
  m_lines.clear();
  if (!m_key) {
    m_message = QStringLiteral("Select a tensor or a node to see its statistics over the iterations.");
    return;
  }
  const Series& series = m_series.front();
  const std::size_t column = quantity().column;
  if (const auto metric = m_facts->metrics.find(series.key.scalar); metric != m_facts->metrics.end()) {
    for (const auto& [rank, values] : metric->second)
      m_lines.push_back({rank, pointsOfMetric(values, m_facts->iterations.at(rank))});
    return m_message.clear();
  }
  for (const core::Rank rank : m_document.facts().ranks) {
    const auto found = series.ranks.find(rank);
    if (found == series.ranks.end()) continue;
    const std::vector<core::Iteration>& iterations = m_document.facts().iterations.at(rank);
    TimelineLine line{rank, {}};
    line.points.reserve(found->second.size());
    for (std::size_t i = 0; i < found->second.size(); ++i)
      line.points.push_back({iterations[i], found->second.at(i, column)});
    m_lines.push_back(std::move(line));
  }
  m_message = messageOf(series);
}

QString Timeline::messageOf(const Series& series) const {
  const bool any = std::ranges::any_of(m_lines, [](const TimelineLine& line) {
    return std::ranges::any_of(line.points, [](const TimelinePoint& p) { return p.value.has_value(); });
  });
  if (series.damaged || (!any && !series.problem.empty())) return QString::fromStdString(series.problem);
  if (any || !series.complete) return {};
  if (quantity().ofTensor && timelineStatistics()[quantity().column].absent)
    return QStringLiteral("%1: %2.").arg(title(),
                                         QString::fromUtf8(timelineStatistics()[quantity().column].absent));
  return QStringLiteral("%1 was recorded in no iteration.").arg(title());
}

std::optional<double> Timeline::valueAt(core::Rank rank, core::Iteration iteration) const {
  const auto line = std::ranges::find(m_lines, rank, &TimelineLine::rank);
  if (line == m_lines.end()) return {};
  const auto point = std::ranges::lower_bound(line->points, iteration, {}, &TimelinePoint::iteration);
  return point != line->points.end() && point->iteration == iteration ? point->value : std::nullopt;
}

void Timeline::findingsChanged() {
  const Findings& findings = m_document.findings();
  if (m_markedReport == findings.reportNumber()) return;
  m_markedReport = findings.reportNumber();
  std::map<core::Iteration, TimelineMark> marks;
  for (std::size_t i = 0; i < findings.hits().size(); ++i) {
    const watch::Hit& hit = findings.hits()[i];
    const bool fault = hit.effectiveSeverity == watch::Severity::kFault;
    const auto [at, isNew] = marks.try_emplace(hit.iteration, TimelineMark{hit.iteration, fault, i, 0, {}});
    TimelineMark& mark = at->second;
    if (fault && !mark.fault) mark.fault = true, mark.hit = i;
    if (++mark.count > kMarkLines) continue;
    mark.text += QStringLiteral("%1%2 at %3, rank %4")
                     .arg(isNew ? "" : "\n", titleOf(hit),
                          QString::fromStdString(replay::hitPlace(m_document.graph(), hit)),
                          QString::number(hit.rank.value));
  }
  m_marks.clear();
  for (auto& [iteration, mark] : marks) {
    if (mark.count > kMarkLines) mark.text += QStringLiteral("\nand %1 more").arg(mark.count - kMarkLines);
    m_marks.push_back(std::move(mark));
  }
  emit marksChanged();
}

Place Timeline::placeOf(const TimelineMark& mark) const {
  return m_document.findings().placeOf(m_document.findings().hits()[mark.hit]);
}

QString Timeline::command() const {
  const QString run = m_document.runArgument();
  if (!quantity().ofTensor) return QStringLiteral("msdbg info ") + run;
  const core::TensorId tensor = m_document.cursor().tensor();
  if (!tensor.valid()) return {};
  return QStringLiteral("msdbg stats %1 --tensor %2")
      .arg(run, shellQuoted(QString::fromStdString(m_document.graph().tensor(tensor).fullName())));
}

}  // namespace msdbg::app
