#include "dump/hits/hit_watch.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core_engine/base/log.h"

namespace msdbg::dump {

using core::Iteration;
using watch::OnlineHit;

namespace {

constexpr int kMostSaid = 20;               // lines on stderr, of a rank
constexpr std::int64_t kMostListed = 1000;  // lines in the journal, of a rank

std::string placeText(const core::Graph& graph, core::TensorId id) {
  const core::TensorInfo& tensor = graph.tensor(id);
  std::string text = tensor.fullName();
  if (!tensor.alias.empty()) text += " " + tensor.alias;
  if (!tensor.producer.valid()) return text;
  const core::Frame* frame = graph.userFrame(graph.node(tensor.producer).frames);
  if (!frame) return text;
  return text + " (" + std::filesystem::path(frame->file).filename().string() + ":" +
         std::to_string(frame->line) + ")";
}

// Tensor, node ("" for a source), and both for people, a line each.
std::string namesOf(const core::Graph& graph, core::TensorId id) {
  const core::TensorInfo& tensor = graph.tensor(id);
  return tensor.fullName() + "\n" + (tensor.producer.valid() ? graph.node(tensor.producer).name : "") + "\n" +
         placeText(graph, id);
}

HitLine lineFrom(const core::Graph& graph, const OnlineHit& hit, const watch::Watchpoint& watchpoint) {
  HitLine line;
  line.iteration = hit.iteration.value;
  line.condition = watchpoint.argument();
  line.tensor = graph.tensor(hit.tensor).fullName();
  if (hit.node.valid()) line.node = graph.node(hit.node).name;
  line.order = hit.order;
  line.parameter = hit.parameter;
  line.preset = hit.preset;
  line.actual = hit.actual;
  line.count = hit.count;
  line.detail = hit.detail;
  return line;
}

}  // namespace

core::Result<std::unique_ptr<HitWatch>> HitWatch::create(const OnHit& what, const Place& place) {
  MSDBG_ASSIGN(OnHitConditions conditions, onHitConditions(what.conditions));
  return std::unique_ptr<HitWatch>(new HitWatch(std::move(conditions.watchpoints), what, place));
}

HitWatch::HitWatch(std::vector<watch::Watchpoint> watchpoints, const OnHit& what, const Place& place)
    : m_place(place),
      m_watchpoints(std::move(watchpoints)),
      m_after(what.after),
      m_windows(what.before, what.after) {}

void HitWatch::graphReady(std::shared_ptr<const GraphPlan> plan) {
  if (!m_plan && m_place.rank.value == 0) warnOfNames(plan->graph);
  m_plan = std::move(plan);
  m_source = std::make_unique<IterationSource>(m_plan, m_place.rank, m_place.ranks);
  m_check = std::make_unique<watch::OnlineCheck>(m_watchpoints);
}

void HitWatch::warnOfNames(const core::Graph& graph) const {
  for (const watch::Watchpoint& watchpoint : m_watchpoints)
    if (const core::Status fit = watch::namesFit(watchpoint, graph); !fit.ok())
      core::logWarn(fit.error().in("on hit").message());
}

bool HitWatch::finished(Iteration iteration, const IterationRecord* record) {
  const std::vector<OnlineHit> hits = record ? evaluate(*record) : std::vector<OnlineHit>();
  say(hits);
  list(hits);
  const std::vector<std::optional<HitVote>> votes = exchange(hits);
  const bool hit = std::ranges::any_of(votes, [](const auto& vote) { return vote.has_value(); });
  m_windows.finished(iteration, hit);
  if (m_first)
    --m_left;
  else if (hit)
    setFirst(iteration, hits, votes);
  return hit;
}

std::vector<OnlineHit> HitWatch::evaluate(const IterationRecord& record) {
  m_source->advance(record);
  return m_check->evaluate(*m_source);
}

// A rank that is lost ends training by itself; until then this one goes on with what it sees.
std::vector<std::optional<HitVote>> HitWatch::exchange(const std::vector<OnlineHit>& mine) {
  std::optional<HitVote> vote;
  if (!mine.empty()) vote = HitVote{static_cast<std::int64_t>(mine.front().watchpoint), mine.front().order};
  auto votes = exchangeVotes(m_alone ? nullptr : m_place.communicator, vote);
  if (votes.ok()) return std::move(*votes);
  m_alone = true;
  return {vote};
}

// Least (order, rank): all ranks have the same votes. The rank that it is tells the names.
void HitWatch::setFirst(Iteration iteration, const std::vector<OnlineHit>& mine,
                        const std::vector<std::optional<HitVote>>& votes) {
  std::optional<std::pair<std::int64_t, std::size_t>> least;
  for (std::size_t rank = 0; rank < votes.size(); ++rank) {
    if (!votes[rank]) continue;
    const std::pair place(votes[rank]->order, rank);
    if (!least || place < *least) least = place;
  }
  const core::Rank rank =
      votes.size() == 1 ? m_place.rank : core::Rank(static_cast<std::int64_t>(least->second));
  const std::string own = mine.empty() ? "" : namesOf(m_plan->graph, mine.front().tensor);
  const auto told = textOfRank(m_alone ? nullptr : m_place.communicator, rank, own);
  if (!told.ok()) m_alone = true;
  const std::vector<std::string> names = core::split(told.ok() ? *told : own, '\n');
  const auto nameAt = [&](std::size_t i) { return i < names.size() ? names[i] : std::string(); };
  RunEnd end;
  end.condition = m_watchpoints[static_cast<std::size_t>(votes[least->second]->watchpoint)].argument();
  end.tensor = nameAt(0);
  end.node = nameAt(1);
  end.rank = rank.value;
  end.iteration = iteration.value;
  end.message = end.condition + " hit at " + nameAt(2) + ", rank " + std::to_string(rank.value) +
                ", iteration " + std::to_string(iteration.value);
  m_first = std::move(end);
  m_left = m_after;
}

std::string HitWatch::lineOf(const OnlineHit& hit, std::size_t others) const {
  std::string text = "hit: " + m_watchpoints[hit.watchpoint].argument() + " at " +
                     placeText(m_plan->graph, hit.tensor) + ", rank " + std::to_string(m_place.rank.value) +
                     ", iteration " + std::to_string(hit.iteration.value);
  if (!hit.parameter.empty())
    text += ": " + core::formatShort(hit.actual) + " against " + hit.parameter + "=" +
            core::formatShort(hit.preset);
  if (!hit.detail.empty()) text += ": " + hit.detail;
  if (others > 0) text += "; and on " + std::to_string(others) + " more tensors";
  return text;
}

// A condition and a tensor are told of once, the tensors that a condition newly hits in one iteration in one
// line.
void HitWatch::say(const std::vector<OnlineHit>& hits) {
  std::map<std::size_t, std::vector<const OnlineHit*>> fresh;  // by watchpoint
  for (const OnlineHit& hit : hits)
    if (m_said.emplace(hit.watchpoint, m_plan->graph.tensor(hit.tensor).fullName()).second)
      fresh[hit.watchpoint].push_back(&hit);
  for (const auto& [watchpoint, group] : fresh) {
    if (m_linesSaid == kMostSaid)
      core::logWarn("rank " + std::to_string(m_place.rank.value) +
                    ": further hits are not told here; msdbg info lists them");
    if (++m_linesSaid <= kMostSaid) core::logWarn(lineOf(*group.front(), group.size() - 1));
  }
}

void HitWatch::list(const std::vector<OnlineHit>& hits) {
  const std::lock_guard lock(m_mutex);
  for (const OnlineHit& hit : hits) {
    if (m_listed++ >= kMostListed) return;
    m_hits.push_back(lineFrom(m_plan->graph, hit, m_watchpoints[hit.watchpoint]));
  }
}

std::vector<HitLine> HitWatch::takeHits() {
  const std::lock_guard lock(m_mutex);
  return std::exchange(m_hits, {});
}

}  // namespace msdbg::dump
