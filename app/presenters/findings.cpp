#include "app/presenters/findings.h"

#include <QTimer>
#include <algorithm>
#include <set>
#include <tuple>

#include "app/async/yielding_source.h"
#include "replay/loss_course.h"

namespace msdbg::app {
namespace {

constexpr int kProgressEveryMs = 50;
constexpr qint64 kLeastRestMs = 1000, kRestPerCheck = 9;  // of a run that grows

auto placeInTime(const watch::Hit& hit) { return std::pair(hit.iteration, hit.order); }
auto orderOf(const watch::Hit& hit) { return std::tuple(hit.iteration, hit.order, hit.rank); }

// One per condition, severity, tensor and rank, in the order of the report: the first one is "first". A hint
// never hides a later fault.
std::vector<watch::Hit> mergedHits(const watch::CheckReport& report) {
  std::vector<watch::Hit> all;
  std::ranges::merge(report.hits, report.hints, std::back_inserter(all), {}, placeInTime, placeInTime);
  std::set<std::tuple<std::string_view, watch::Severity, core::TensorId, core::Rank>> seen;
  std::erase_if(all, [&](const watch::Hit& hit) {
    return !seen.insert({hit.condition->id, hit.effectiveSeverity, hit.tensor, hit.rank}).second;
  });
  return all;
}

std::vector<Findings::Entry> recommendedEntries() {
  std::vector<Findings::Entry> entries;
  for (watch::Watchpoint& watchpoint : watch::recommendedSet()) entries.push_back({std::move(watchpoint)});
  return entries;
}

}  // namespace

Findings::Findings(ReplayThread& replay, std::shared_ptr<const RunFacts> facts, QObject* parent)
    : QObject(parent),
      m_replay(replay),
      m_facts(std::move(facts)),
      m_progressTimer(new QTimer(this)),
      m_growthTimer(new QTimer(this)) {
  m_entries = recommendedEntries();
  m_progressTimer->setInterval(kProgressEveryMs);
  connect(m_progressTimer, &QTimer::timeout, this, [this] { emit progressed(progress()); });
  m_growthTimer->setSingleShot(true);
  connect(m_growthTimer, &QTimer::timeout, this, &Findings::checkGrowth);
}

void Findings::setEntries(std::vector<Entry> entries) {
  m_entries = std::move(entries);
  entriesChanged();
}

void Findings::resetToRecommended() {
  if (!isRecommendedSet()) change(recommendedEntries());
}

void Findings::entriesChanged() {
  m_stale = true;
  emit changed();
}

void Findings::change(std::vector<Entry> entries) {
  constexpr std::size_t kMostSteps = 50;
  m_before.push_back(std::exchange(m_entries, std::move(entries)));
  if (m_before.size() > kMostSteps) m_before.pop_front();
  entriesChanged();
}

void Findings::undo() {
  if (m_before.empty()) return;
  m_entries = std::move(m_before.back());
  m_before.pop_back();
  entriesChanged();
}

void Findings::add(watch::Watchpoint watchpoint) {
  const std::string text = watchpoint.text();
  std::vector<Entry> entries = m_entries;
  const auto same =
      std::ranges::find_if(entries, [&](const Entry& e) { return e.watchpoint.text() == text; });
  if (same == entries.end())
    entries.push_back({std::move(watchpoint)});
  else
    same->enabled = true;
  change(std::move(entries));
}

void Findings::remove(std::size_t index) {
  std::vector<Entry> entries = m_entries;
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(index));
  change(std::move(entries));
}

void Findings::replace(std::size_t index, watch::Watchpoint watchpoint) {
  std::vector<Entry> entries = m_entries;
  entries.at(index).watchpoint = std::move(watchpoint);
  change(std::move(entries));
}

void Findings::setEnabled(std::size_t index, bool enabled) {
  if (m_entries.at(index).enabled == enabled) return;
  std::vector<Entry> entries = m_entries;
  entries[index].enabled = enabled;
  change(std::move(entries));
}

bool Findings::isRecommendedSet() const {
  const std::vector<watch::Watchpoint> recommended = watch::recommendedSet();
  return std::ranges::equal(m_entries, recommended, [](const Entry& e, const watch::Watchpoint& w) {
    return e.enabled && e.watchpoint.recommended && e.watchpoint.text() == w.text();
  });
}

void Findings::recheck() { start(false); }

// A quiet one changes nothing that is seen until its report is there.
void Findings::start(bool quiet) {
  std::vector<watch::Watchpoint> watchpoints;
  for (const Entry& entry : m_entries)
    if (entry.enabled) watchpoints.push_back(entry.watchpoint);
  m_share = std::make_shared<std::atomic<double>>(0.0);
  m_quiet = quiet;
  m_grown = false;
  m_growthTimer->stop();
  m_sinceCheck.start();
  if (!quiet) m_state = State::kChecking, m_stale = false;
  m_replay.ask(
      this, "check",
      [watchpoints, share = m_share, thread = &m_replay](
          replay::Run& run, const core::CancelToken& cancel) -> core::Result<Outcome> {
        watch::CheckOptions options;
        options.cancel = cancel;
        options.progress = [share](double done) { *share = done; };
        return checked(run, *thread, watchpoints, options);
      },
      [this](core::Result<Outcome> outcome) { finished(std::move(outcome)); }, ReplayThread::Lane::kLong);
  if (quiet) return;
  m_progressTimer->start();
  emit changed();
}

void Findings::setFacts(std::shared_ptr<const RunFacts> facts) {
  m_facts = std::move(facts);
  m_grown = true;
  checkGrowth();
}

// Watchpoints that were changed, and a check that was cancelled or failed, wait for the user.
void Findings::checkGrowth() {
  if (!m_grown || m_quiet || m_stale || m_state != State::kDone) return;
  const qint64 rest = m_facts->recording ? m_restMs - m_sinceCheck.elapsed() : 0;
  if (rest > 0)
    m_growthTimer->start(static_cast<int>(std::min<qint64>(rest, 1 << 30)));
  else
    start(true);
}

// Replay thread.
Findings::Outcome Findings::checked(replay::Run& run, ReplayThread& thread,
                                    const std::vector<watch::Watchpoint>& watchpoints,
                                    const watch::CheckOptions& options) {
  YieldingSource source(run, thread);
  Outcome outcome;
  outcome.report = watch::check(source, watchpoints, options);
  outcome.consequences = replay::consequences(source, outcome.report);
  if (outcome.report.first) outcome.firstInputs = replay::hitInputs(source, *outcome.report.first);
  outcome.state = replay::stateOf(run);
  if (!outcome.report.first)
    if (const auto loss = replay::lossCourseOf(run)) outcome.lastLoss = loss->last;
  return outcome;
}

void Findings::cancel() {
  if (m_state != State::kChecking) return;
  m_replay.cancel(this, "check");
  m_progressTimer->stop();
  m_state = State::kCancelled;
  m_stale = true;
  emit changed();
}

void Findings::finished(core::Result<Outcome> outcome) {
  m_progressTimer->stop();
  m_quiet = false;
  m_restMs = std::max(kLeastRestMs, kRestPerCheck * m_sinceCheck.elapsed());
  m_sinceCheck.start();
  if (!outcome.ok()) {
    m_state = State::kFailed;
    m_error = QString::fromStdString(outcome.error().message());
    m_stale = true;
  } else {
    m_state = State::kDone;
    m_error.clear();
    ++m_reportNumber;
    m_outcome = std::move(*outcome);
    m_hits = mergedHits(m_outcome.report);
  }
  emit changed();
  checkGrowth();
}

std::shared_ptr<const core::Graph> Findings::graph() const { return m_facts->graph; }

Findings::Counts Findings::counts() const {
  const std::int64_t faults =
      std::ranges::count(m_hits, watch::Severity::kFault, &watch::Hit::effectiveSeverity);
  return {faults, static_cast<std::int64_t>(m_hits.size()) - faults};
}

Place Findings::placeOf(const watch::Hit& hit) const {
  const core::Graph& graph = *m_facts->graph;
  Place place{hit.rank, hit.iteration, {}, hit.tensor, {}};
  if (hit.node.valid()) place.nodes = {hit.node};
  place.line = lineOf(graph, replay::framesOf(graph, hit));
  return place;
}

// At the place of a hit without node and tensor (the run failed after this iteration) nothing is selected.
std::int64_t Findings::orderAt(const Place& place) const {
  for (const watch::Hit& hit : m_hits)
    if (!place.nodes.empty() && hit.node == place.nodes.front() && hit.iteration == place.iteration &&
        hit.rank == place.rank)
      return hit.order;
  if (!place.nodes.empty()) return place.nodes.front().value;
  const bool atEnd = !place.tensor.valid() && std::ranges::any_of(m_hits, [&](const watch::Hit& hit) {
    return hit.order == watch::Hit::kAfterAll && hit.iteration == place.iteration && hit.rank == place.rank;
  });
  return atEnd ? watch::Hit::kAfterAll : -1;
}

std::optional<std::size_t> Findings::nextHit(const Place& from, int direction) const {
  const auto here = std::tuple(from.iteration, orderAt(from), from.rank);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < m_hits.size(); ++i) {
    const auto there = orderOf(m_hits[i]);
    const bool ahead = direction > 0 ? there > here : there < here;
    const bool nearer =
        !best || (direction > 0 ? there < orderOf(m_hits[*best]) : there > orderOf(m_hits[*best]));
    if (ahead && nearer) best = i;
  }
  return best;
}

}  // namespace msdbg::app
