#include "replay/recompute/hindsight.h"

#include <fmt/format.h>

#include <algorithm>

#include "replay/recompute/judge.h"
#include "watchpoints/activation_preset.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;

// Keeps values besides.
class Hindsight::Keeper : public Judge {
 public:
  using Judge::Judge;

  void keep(bool all, TensorId one, std::uint64_t room, bool statistics) {
    m_all = all;
    m_one = one;
    m_room = room;
    m_statistics = statistics;
    values.clear();
    rows.assign(statistics ? graph().tensors().size() : 0, std::nullopt);
  }
  core::UpdateWish updateWish(Iteration, TensorId) override {
    return m_statistics ? core::UpdateWish::kPrevious : core::UpdateWish::kNothing;
  }
  void tensorReady(const core::TensorReady& ready) override {
    if (m_statistics) observe(ready);
    Judge::tensorReady(ready);
    if (m_statistics && differs(ready.tensor)) rows[ready.tensor.index()].reset();
    const std::uint64_t bytes = ready.value.bytes();
    const bool wanted = recorded().runId(ready.tensor) == m_one;
    if (!wanted && (!m_all || bytes > m_room)) return;
    if (!wanted) m_room -= bytes;
    values.emplace_back(ready.tensor, ready.value.clone());
  }

  std::vector<std::pair<TensorId, core::Tensor>> values;  // by the rank's ids
  std::vector<std::optional<watch::StatisticsRow>> rows;

 protected:
  core::Hash128 hashOf(const core::TensorReady& ready) override {
    const auto& row = m_statistics ? rows[ready.tensor.index()] : std::nullopt;
    return row ? row->values.hash : Judge::hashOf(ready);
  }

 private:
  // As the recorder does (dump/writer/value_observer).
  void observe(const core::TensorReady& ready) {
    core::ObservationWish wish{.previous = ready.previous, .range = {}};
    if (const auto range = watch::activationPreset(graph(), graph().tensor(ready.tensor)))
      wish.range = {range->start, range->end};
    const core::TensorObservation seen = core::observeTensor(ready.value, wish, threads());
    rows[ready.tensor.index()] = watch::StatisticsRow{seen.values, seen.change, seen.activation};
  }

  bool m_statistics = false;
  bool m_all = false;
  TensorId m_one;
  std::uint64_t m_room = 0;
};

Hindsight::Hindsight(Run& run, HindsightOptions options) : m_run(run), m_options(std::move(options)) {}
Hindsight::~Hindsight() = default;

Result<std::unique_ptr<Hindsight>> Hindsight::create(Run& run, HindsightOptions options) {
  if (!run.recomputable())
    return Error(ErrorCode::kUnsupported,
                 run.folder().string() + ": a run of this format holds nothing to compute it again from");
  return std::unique_ptr<Hindsight>(new Hindsight(run, std::move(options)));
}

Status Hindsight::start() {
  if (m_walk) return Ok{};
  MSDBG_ASSIGN(m_walk, Walk::create(m_run, m_options.cancel, [&](std::mutex& lock, Rank rank, int threads) {
                 auto keeper = std::make_unique<Keeper>(m_run, lock, rank, threads);
                 m_keepers.push_back(keeper.get());
                 return keeper;
               }));
  return Ok{};
}

std::vector<std::string> Hindsight::otherHere() const {
  return m_walk ? m_walk->engine().otherHere() : std::vector<std::string>();
}

Hindsight::Kept* Hindsight::kept(Iteration iteration) {
  const auto found = std::ranges::find(m_kept, iteration, &Kept::iteration);
  return found == m_kept.end() ? nullptr : &*found;
}

Result<Hindsight::Cost> Hindsight::cost(Iteration iteration) {
  MSDBG_TRY(start());
  if (kept(iteration)) return Cost{iteration, 0, 0};
  MSDBG_ASSIGN(const Iteration from, m_walk->startFor(iteration));
  return costFrom(from, iteration);
}

Hindsight::Cost Hindsight::costFrom(Iteration from, Iteration to) const {
  const std::int64_t iterations = to.value - from.value + 1;
  return {from, iterations, static_cast<double>(iterations) * m_walk->engine().secondsAnIteration()};
}

Status Hindsight::reach(Iteration iteration, Rank rank, TensorId tensor) {
  MSDBG_TRY(start());
  const std::uint64_t room = m_options.keepBytes / m_keepers.size();
  std::int64_t done = 0;
  const auto ready = [&](Rank at, Judge& judge, Iteration now) {
    const bool target = now == iteration;
    static_cast<Keeper&>(judge).keep(target, target && at == rank ? tensor : TensorId(), room, m_wantsRows);
    if (m_options.progress && at == Rank(0))
      m_options.progress(done, done + iteration.value - now.value + 1), ++done;
  };
  MSDBG_TRY(m_walk->to(iteration, ready, [&](Iteration now) {
    if (m_wantsRows) takeRows(now);
  }));
  take(iteration);
  return Ok{};
}

void Hindsight::takeRows(Iteration iteration) {
  Rows fresh{iteration, {}, 0};
  for (Keeper* keeper : m_keepers) {
    for (std::size_t i = 0; i < keeper->rows.size(); ++i)  // a later rank may have told of it
      if (keeper->differs(TensorId(static_cast<std::int64_t>(i)))) keeper->rows[i].reset();
    fresh.bytes += keeper->rows.size() * sizeof(keeper->rows.front());
    fresh.ranks.push_back({keeper->recorded().part, std::move(keeper->rows)});
  }
  m_rows.remove_if([&](const Rows& each) {
    if (each.iteration == iteration) m_rowBytes -= each.bytes;
    return each.iteration == iteration;
  });
  m_rowBytes += fresh.bytes;
  m_rows.push_front(std::move(fresh));
  for (; m_rowBytes > m_options.keepRowBytes && m_rows.size() > 1; m_rows.pop_back())
    m_rowBytes -= m_rows.back().bytes;
}

const Hindsight::Rows* Hindsight::rowsOf(Iteration iteration) {
  const auto found = std::ranges::find(m_rows, iteration, &Rows::iteration);
  return found == m_rows.end() ? nullptr : &*found;
}

const watch::StatisticsRow* Hindsight::statistics(Rank rank, Iteration iteration, TensorId tensor) {
  m_failure.reset();
  const Rows* rows = rowsOf(iteration);
  if (!rows) {
    m_wantsRows = true;
    if (const Status reached = reach(iteration, Rank(), TensorId()); !reached.ok()) {
      m_failure = reached.error();
      return nullptr;
    }
    rows = rowsOf(iteration);
  }
  if (!rows || rank.index() >= rows->ranks.size()) return nullptr;
  const Rows::OfRank& of = rows->ranks[rank.index()];
  const TensorId local = of.part ? of.part->localTensor(tensor) : tensor;
  if (!local.valid() || local.index() >= of.rows.size() || !of.rows[local.index()]) return nullptr;
  return &*of.rows[local.index()];
}

// Older ones go where they take too much.
void Hindsight::take(Iteration iteration) {
  Kept fresh{iteration, {}, {}, m_walk->since(), {}, 0};
  for (const auto& [checkpoint, why] : m_walk->engine().damagedCheckpoints())
    if (m_walk->begun() < checkpoint && checkpoint <= iteration) fresh.passedOver[checkpoint] = why;
  for (std::size_t r = 0; r < m_keepers.size(); ++r) {
    Keeper& keeper = *m_keepers[r];
    for (auto& [local, value] : keeper.values) {
      const std::pair key(Rank(static_cast<std::int64_t>(r)), keeper.recorded().runId(local));
      const core::Hash128& recorded = keeper.recorded().hashes[local.index()];
      fresh.evidence[key] = recorded == core::Hash128()
                                ? keeper.differs(local) ? Evidence::kFollows : Evidence::kNone
                            : keeper.differs(local) ? Evidence::kOther
                                                    : Evidence::kHash;
      fresh.bytes += value.bytes();
      fresh.values[key] = std::move(value);
    }
    keeper.values.clear();
  }
  m_kept.remove_if([&](const Kept& each) { return each.iteration == iteration; });
  m_kept.push_front(std::move(fresh));
  std::uint64_t bytes = 0;
  for (auto each = m_kept.begin(); each != m_kept.end();) {
    bytes += each->bytes;
    each = each != m_kept.begin() && bytes > m_options.keepBytes ? m_kept.erase(each) : std::next(each);
  }
}

Result<Hindsight::Computed> Hindsight::compute(Rank rank, Iteration iteration, TensorId tensor) {
  const core::GraphPart* part = m_run.part(rank, iteration);
  if (part && !part->has(tensor))
    return Error(ErrorCode::kNotFound, fmt::format("rank {} does not compute {} in iteration {}", rank.value,
                                                   m_run.graph().tensor(tensor).fullName(), iteration.value));
  MSDBG_TRY(start());
  Cost paid{iteration, 0, 0};
  const std::pair key(rank, tensor);
  Kept* here = kept(iteration);
  if (here && !here->values.contains(key)) {
    m_kept.remove_if([&](const Kept& each) { return each.iteration == iteration; });
    here = nullptr;
  }
  if (!here) {
    MSDBG_TRY(reach(iteration, rank, tensor));
    paid = costFrom(m_walk->from(), iteration);
    here = kept(iteration);
  }
  const auto value = here->values.find(key);
  if (value == here->values.end())
    return Error(ErrorCode::kUnavailable,
                 m_run.graph().tensor(tensor).fullName() + " was not computed in this iteration");
  Computed computed{value->second, here->evidence[key], paid, here->passedOver, {}};
  if (!isTrainings(computed.evidence)) computed.since = here->since;
  return computed;
}

void Hindsight::forEachProven(Iteration iteration, const Proven& f) const {
  const auto found = std::ranges::find(m_kept, iteration, &Kept::iteration);
  if (found == m_kept.end()) return;
  for (const auto& [key, value] : found->values)
    if (found->evidence.at(key) == Evidence::kHash) f(key.first, key.second, value);
}

Result<core::Tensor> Hindsight::value(Rank rank, Iteration iteration, TensorId tensor) {
  MSDBG_ASSIGN(Computed computed, compute(rank, iteration, tensor));
  if (computed.evidence == Evidence::kOther)
    return Error(ErrorCode::kUnavailable,
                 "computed again, it has another hash than the recorded one (msdbg replay --prove)");
  if (computed.evidence == Evidence::kFollows)
    return Error(ErrorCode::kUnavailable,
                 "computed again, it follows from what has another hash than the recorded one (msdbg replay "
                 "--prove)");
  return std::move(computed.value);
}

}  // namespace msdbg::replay
