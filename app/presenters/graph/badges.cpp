#include "app/presenters/graph/badges.h"

#include <algorithm>

#include "core_engine/graph/graph_union.h"
#include "replay/describe.h"

namespace msdbg::app {

using graphview::Health;

namespace {

constexpr std::size_t kMostKept = 32;

// `foreign`: the nodes are of a graph that only grows, of which an iteration may do a part.
QString problemText(const BadgeSet& badges, std::int64_t missing, const std::string& reason, bool foreign) {
  if (missing == 0) return {};
  const QString nodes = QString::fromStdString(replay::counted(missing, "node"));
  const QString where =
      QStringLiteral("Iteration %1 of rank %2").arg(badges.iteration.value).arg(badges.rank.value);
  if (reason == "damaged")
    return where +
           QStringLiteral(": statistics of %1 are damaged; `msdbg verify` lists what is lost.").arg(nodes);
  if (reason == "thinned")
    return where +
           QStringLiteral(": statistics were thinned to keep within --max-size; another iteration has them.");
  if (foreign)
    return where + QStringLiteral(
                       ": nothing was seen of %1, which did not run in it, had no values yet, or "
                       "a rule of the recording left out.")
                       .arg(nodes);
  return where + QStringLiteral(": no statistics of %1 are stored; `msdbg dump --policy stats` stores all.")
                     .arg(nodes);
}

}  // namespace

Health healthOf(const core::TensorStatistics& statistics) {
  if (statistics.nan > 0) return Health::kNan;
  if (statistics.inf() > 0) return Health::kInf;
  if (statistics.count > 0 && statistics.zero == statistics.count) return Health::kAllZero;
  return Health::kFinite;
}

namespace {

// Every rank takes part in a collective and gets a result of its own: the worst of them is the node's.
Health resultHealth(watch::Source& run, const core::Node& node, core::Rank rank, core::Iteration iteration) {
  Health health = Health::kUnknown;
  for (const core::TensorId output : node.outputs)
    if (const watch::StatisticsRow* row = run.flags(rank, iteration, output))
      health = graphview::worse(health, healthOf(row->values));
  return health;
}

}  // namespace

BadgeSet readBadges(watch::Source& run, core::Rank rank, core::Iteration iteration,
                    const core::CancelToken& cancel) {
  BadgeSet badges{rank, iteration, {}, {}, true};
  const std::vector<core::Rank> ranks = run.ranks();
  badges.nodes.resize(run.graph().nodes().size(), Health::kUnknown);
  std::int64_t missing = 0;
  bool foreign = false;
  std::string reason;
  const core::GraphPart* part = run.part(rank, iteration);
  for (const core::Node& node : run.graph().nodes()) {
    if (cancel.cancelled()) break;
    Health& health = badges.nodes[node.id.index()];
    if (part && !part->has(node.id)) {
      health = Health::kAbsent;
      continue;
    }
    health = resultHealth(run, node, rank, iteration);
    if (health == Health::kUnknown) {
      ++missing;
      foreign |= !node.isOwn();
      if (reason != "damaged") reason = run.missingReason();
    }
    if (node.phase != core::Phase::kCollective) continue;
    for (const core::Rank other : ranks) {
      if (other == rank) continue;
      const Health theirs = resultHealth(run, node, other, iteration);
      badges.complete &= theirs != Health::kUnknown;
      health = graphview::worse(health, theirs);
    }
  }
  badges.problem = problemText(badges, missing, reason, foreign);
  return badges;
}

Badges::Badges(Document& document, QObject* parent) : QObject(parent), m_document(document) {
  connect(&document.cursor(), &Cursor::positionChanged, this, &Badges::refresh);
}

void Badges::refresh() {
  const core::Rank rank = m_document.cursor().rank();
  const core::Iteration iteration = m_document.cursor().iteration();
  if (!rank.valid() || !iteration.valid()) return forget();
  const auto kept = std::ranges::find_if(
      m_kept, [&](const auto& badges) { return badges->rank == rank && badges->iteration == iteration; });
  if (kept != m_kept.end()) {
    m_document.replay().cancel(this, "badges");
    take(*kept);
    return;
  }
  m_busy = true;
  using Answer = core::Result<std::shared_ptr<const BadgeSet>>;
  m_document.replay().ask(
      this, "badges",
      [rank, iteration](replay::Run& run, const core::CancelToken& cancel) -> Answer {
        return std::make_shared<const BadgeSet>(readBadges(run, rank, iteration, cancel));
      },
      [this](Answer answer) {
        if (answer.ok())
          take(*answer);
        else
          forget();
      });
}

// Nothing is known of this place; what is known of another one would mislead.
void Badges::forget() {
  m_document.replay().cancel(this, "badges");
  m_busy = false;
  m_current.reset();
  emit changed();
}

void Badges::take(std::shared_ptr<const BadgeSet> badges) {
  m_busy = false;
  m_current = badges;
  m_kept.remove(badges);
  if (badges->complete) m_kept.push_front(std::move(badges));
  if (m_kept.size() > kMostKept) m_kept.pop_back();
  emit changed();
}

}  // namespace msdbg::app
