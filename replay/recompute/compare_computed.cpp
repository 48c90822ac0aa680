#include "replay/recompute/compare_computed.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core_engine/base/text.h"
#include "replay/recompute/walk.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::TensorId;

namespace {

// Measures what differs where its recorded value is stored: while it is there.
class Measurer : public Judge {
 public:
  Measurer(Run& run, std::mutex& lock, Rank rank, int threads, const ComparisonOptions& options)
      : Judge(run, lock, rank, threads), m_run(run), m_lock(lock), m_rank(rank), m_options(options) {}

  void watch(bool wanted, bool measure) {
    m_wanted = wanted;
    m_measure = measure;
    counts = {};
    different.clear();
  }
  void tensorReady(const core::TensorReady& ready) override {
    Judge::tensorReady(ready);
    if (!m_wanted) return;
    const TensorId id = recorded().runId(ready.tensor);
    if (!m_options.asksFor(id)) return;
    const bool known = recorded().hashes[ready.tensor.index()] != core::Hash128();
    TensorComparison one{.rankA = m_rank,
                         .rankB = m_rank,
                         .iterationA = ready.iteration,
                         .iterationB = ready.iteration,
                         .order = graph().tensor(ready.tensor).producer.value,
                         .a = id,
                         .b = id};
    one.by = known ? ComparedBy::kHashes : ComparedBy::kNothing;
    one.verdict = !known                  ? Agreement::kUnknown
                  : differs(ready.tensor) ? Agreement::kDifferent
                                          : Agreement::kEqual;
    if (one.verdict == Agreement::kDifferent) {
      if (m_measure || m_options.tolerance.kind == Tolerance::Kind::kScaled) measure(ready, one);
      addInputs(ready.tensor, one);
      if (one.verdict != Agreement::kEqual) different.push_back(one);
    }
    counts.add(one.verdict);
  }

  Counts counts;
  std::vector<TensorComparison> different;  // of the iteration, as they were computed

 private:
  void measure(const core::TensorReady& ready, TensorComparison& one) {
    const bool scaled = m_options.tolerance.kind == Tolerance::Kind::kScaled;
    if (scaled) one.verdict = Agreement::kUndecided;
    std::optional<core::Tensor> stored;
    {
      const std::lock_guard lock(m_lock);
      if (!m_run.stored(m_rank, ready.iteration, one.a)) return;
      Result<core::Tensor> value = m_run.value(m_rank, ready.iteration, one.a);
      if (!value.ok()) return;  // damage, which the run tells
      stored = std::move(*value);
    }
    if (stored->shape() != ready.value.shape()) return;
    one.by = ComparedBy::kValues;
    one.measures = measureTensors(*stored, ready.value, m_options.cancel);
    if (!scaled) return;
    const Measures& m = *one.measures;
    const bool within = !m.otherNonFinite() && m.maxAbs <= m_options.tolerance.scale * m.magnitude;
    one.verdict = within ? Agreement::kWithin : Agreement::kDifferent;
  }

  void addInputs(TensorId tensor, TensorComparison& one) const {
    const core::NodeId producer = graph().tensor(tensor).producer;
    if (!producer.valid()) return;
    for (const TensorId input : graph().node(producer).inputs) {
      one.inputsDiffer = one.inputsDiffer || differs(input);
      one.inputsUnknown = one.inputsUnknown || recorded().hashes[input.index()] == core::Hash128();
    }
  }

  Run& m_run;
  std::mutex& m_lock;
  Rank m_rank;
  const ComparisonOptions& m_options;
  bool m_wanted = false, m_measure = false;
};

class ComputedComparer {
 public:
  ComputedComparer(Run& run, const ComparisonOptions& options) : m_run(run), m_options(options) {}

  Result<Comparison> compare(const core::IterationSet& iterations) {
    m_found.mode = ComparisonMode::kComputed;
    m_found.tolerance = m_options.tolerance;
    MSDBG_ASSIGN(m_walk, Walk::create(m_run, m_options.cancel, [&](std::mutex& lock, Rank rank, int threads) {
                   auto measurer = std::make_unique<Measurer>(m_run, lock, rank, threads, m_options);
                   m_measurers.push_back(measurer.get());
                   return measurer;
                 }));
    std::int64_t done = 0;
    std::optional<Error> unreached;  // the first iteration that was not, and why
    for (const std::int64_t each : iterations) {
      if (m_options.progress) m_options.progress(done++, static_cast<std::int64_t>(iterations.size()));
      const Status reached = reach(Iteration(each));
      if (reached.ok()) continue;
      if (reached.error().code() == ErrorCode::kCancelled) return reached.error();
      if (!unreached) unreached = reached.error();
      note(fmt::format("iteration {}: {}", each, reached.error().message()));
    }
    if (m_found.compared.empty() && unreached)
      return Error(unreached->code(), "nothing of it can be computed again: " + unreached->message());
    for (const std::string& other : m_walk->engine().otherHere()) note("otherwise here: " + other);
    return std::move(m_found);
  }

 private:
  Status reach(Iteration iteration) {
    const auto ready = [&](Rank rank, Judge&, Iteration now) {
      m_measurers[rank.index()]->watch(now == iteration, m_options.all || !m_found.first);
    };
    return m_walk->to(iteration, ready, [&](Iteration now) {
      if (now == iteration) collect(iteration);
    });
  }

  void collect(Iteration iteration) {
    StepSummary summary{.a = iteration, .b = iteration};
    std::vector<TensorComparison> different;
    for (Measurer* measurer : m_measurers) {
      summary.counts += measurer->counts;
      std::ranges::move(measurer->different, std::back_inserter(different));
    }
    std::ranges::stable_sort(different, {},
                             [](const TensorComparison& c) { return std::tuple(c.order, c.rankA); });
    const bool first = !m_found.first && summary.counts.different > 0;
    if (first || m_options.all)
      for (const TensorComparison& each : different)
        if (m_found.different.size() < kMostDifferent) m_found.different.push_back(each);
    if (first) describe(*std::ranges::find(different, Agreement::kDifferent, &TensorComparison::verdict));
    m_found.counts += summary.counts;
    m_found.compared.add({iteration.value, iteration.value});
    if (m_found.differs()) m_found.course.push_back(summary);
  }

  void describe(const TensorComparison& what) {
    FirstDifference& first = m_found.first.emplace(FirstDifference{.what = what});
    Measurer& measurer = *m_measurers[what.rankA.index()];
    const core::NodeId node(what.order);
    if (!node.valid()) return;
    first.kernelB = m_walk->engine().rank(what.rankA).kernelOf(node);
    for (const TensorId input : measurer.graph().node(node).inputs) {
      TensorComparison read = what;
      read.a = read.b = measurer.recorded().runId(input);
      read.order = measurer.graph().tensor(input).producer.value;
      read.measures.reset();
      const bool known = measurer.recorded().hashes[input.index()] != core::Hash128();
      read.by = known ? ComparedBy::kHashes : ComparedBy::kNothing;
      read.verdict = !known                    ? Agreement::kUnknown
                     : measurer.differs(input) ? Agreement::kDifferent
                                               : Agreement::kEqual;
      first.reads.push_back(std::move(read));
    }
  }

  void note(const std::string& text) {
    constexpr std::size_t kMost = 20;
    if (m_found.notes.size() < kMost && std::ranges::find(m_found.notes, text) == m_found.notes.end())
      m_found.notes.push_back(text);
  }

  Run& m_run;
  const ComparisonOptions& m_options;
  std::unique_ptr<Walk> m_walk;
  std::vector<Measurer*> m_measurers;  // its judges
  Comparison m_found;
};

}  // namespace

Result<Comparison> compareComputed(Run& run, const core::IterationSet& iterations,
                                   const ComparisonOptions& options) {
  if (options.tolerance.kind == Tolerance::Kind::kLastBit)
    return Error(
        ErrorCode::kUsage,
        "what is computed again is the same to the bit, or is not: give exact or a number, not auto");
  return ComputedComparer(run, options).compare(iterations);
}

}  // namespace msdbg::replay
