// The way back from what is wrong to where it began.
#include <set>
#include <tuple>

#include "replay/findings.h"
#include "watchpoints/blame/blame.h"
#include "watchpoints/conditions/targets.h"
#include "watchpoints/meaning/translated_source.h"
#include "watchpoints/step.h"

namespace msdbg::replay {

using core::Iteration;
using core::Rank;
using core::TensorId;
using watch::Hit;
using watch::Wrong;

namespace {

constexpr std::size_t kMostSteps = 100;
constexpr int kMostUpdates = 3;  // how many iterations back

/// A wrong value, and what is wrong with it.
struct Suspect {
  TensorId tensor;
  Rank rank;
  Iteration iteration;
  Wrong wrong;
};

struct Lead {
  Suspect suspect;
  std::string reason;
};

std::optional<watch::StatisticsRow> rowOf(watch::Source& run, Rank rank, Iteration iteration,
                                          TensorId tensor) {
  const watch::StatisticsRow* row = run.flags(rank, iteration, tensor);
  return row ? std::optional(*row) : std::nullopt;
}

std::optional<Iteration> previousIteration(const watch::Source& run, Rank rank, Iteration iteration) {
  std::optional<Iteration> previous;
  for (const Iteration i : run.iterations(rank))
    if (i < iteration) previous = i;
  return previous;
}

class Walk {
 public:
  explicit Walk(watch::Source& run) : m_run(run), m_updates(watch::updatesByParameter(run.graph())) {}

  std::vector<WhyStep> from(const Hit& hit) {
    if (!hit.tensor.valid()) return {};  // the run itself
    Suspect at{hit.tensor, hit.rank, hit.iteration, wrongOf(hit)};
    std::vector<WhyStep> steps;
    while (steps.size() < kMostSteps) {
      const std::optional<Lead> lead = leadFrom(at);
      if (!lead || !m_seen.insert(keyOf(lead->suspect)).second) break;
      at = lead->suspect;
      steps.push_back(stepOf(*lead));
    }
    if (!steps.empty() && !m_run.graph().tensor(at.tensor).isSource() && inputsRecorded(at))
      steps.back().reason += "; its own inputs are as usual";
    return steps;
  }

 private:
  using Key = std::tuple<TensorId, Rank, Iteration>;
  static Key keyOf(const Suspect& s) { return {s.tensor, s.rank, s.iteration}; }

  /// An update that changes nothing is followed to what should have moved it.
  Wrong wrongOf(const Hit& hit) {
    const auto row = rowOf(m_run, hit.rank, hit.iteration, hit.tensor);
    if (!row) return Wrong::kExtreme;
    const Wrong wrong = watch::wrongOf(row->values);
    const bool stands = row->change && row->change->outsideTolerance == 0;
    return wrong == Wrong::kExtreme && stands ? Wrong::kAllZero : wrong;
  }

  std::optional<Lead> leadFrom(const Suspect& at) {
    const core::TensorInfo& tensor = m_run.graph().tensor(at.tensor);
    if (tensor.isSource()) return updateBefore(at);
    const std::optional<watch::Blame> blame = watch::blameInput(
        m_run, at.rank, at.iteration, m_run.graph().node(tensor.producer), at.tensor, at.wrong);
    if (!blame) return std::nullopt;
    return Lead{{blame->tensor, blame->rank, at.iteration, blame->wrong}, blame->sentence()};
  }

  /// A parameter or state is what the update of the iteration before made of it.
  std::optional<Lead> updateBefore(const Suspect& at) {
    const TensorId update = m_updates[at.tensor.index()];
    const Iteration before(at.iteration.value - 1);
    if (!update.valid() || !before.valid() || m_updatesFollowed >= kMostUpdates) return std::nullopt;
    if (!m_run.flags(at.rank, before, update)) return std::nullopt;
    ++m_updatesFollowed;
    return Lead{{update, at.rank, before, at.wrong},
                "made so by the update of iteration " + std::to_string(before.value)};
  }

  WhyStep stepOf(const Lead& lead) {
    const Suspect& s = lead.suspect;
    const auto previous = previousIteration(m_run, s.rank, s.iteration);
    return {s.tensor,
            s.rank,
            s.iteration,
            lead.reason,
            rowOf(m_run, s.rank, s.iteration, s.tensor),
            previous ? rowOf(m_run, s.rank, *previous, s.tensor) : std::nullopt};
  }

  bool inputsRecorded(const Suspect& at) {
    const core::Node& node = m_run.graph().node(m_run.graph().tensor(at.tensor).producer);
    for (const TensorId input : watch::inputsOf(m_run, at.rank, at.iteration, node))
      if (!m_run.flags(at.rank, at.iteration, input)) return false;
    return true;
  }

  watch::Source& m_run;
  std::vector<TensorId> m_updates;
  std::set<Key> m_seen;
  int m_updatesFollowed = 0;
};

}  // namespace

std::vector<WhyStep> whyChain(watch::Source& run, const Hit& hit) {
  const watch::TranslatedSource read(run);
  return Walk(*read).from(hit);
}

}  // namespace msdbg::replay
