#include "replay/diff/given.h"

#include <algorithm>

#include "core_engine/graph/roles.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;
using core::Tensor;
using core::TensorId;
using core::TensorInfo;
using core::TensorRole;

namespace {

constexpr std::size_t kWholeBatches = 4;  // so many iterations whose batches are put together

enum Group : std::size_t { kBatches, kHyperparameters, kState };

class Givens {
 public:
  Givens(Run& a, Run& b, AlignedPairs& pairs, PairReader& reader)
      : m_a(a), m_b(b), m_pairs(pairs), m_reader(reader) {}

  std::vector<GivenGroup> groups = {
      {.name = "batches"}, {.name = "hyperparameters"}, {.name = "initial state"}};

  void compare(const Step& step, Rank rankA, Rank rankB, bool begin) {
    const AlignedPair& pair = m_pairs.of(rankA, step.a, rankB, step.b);
    const auto& tensors = pair.alignment.tensors;
    for (std::size_t i = 0; i < tensors.size() && tensors[i].order < 0; ++i) {
      const TensorInfo& info = m_a.graph().tensor(tensors[i].a);
      const bool carried = core::isCarried(info);
      if (!pair.judged[i] || (carried && !begin)) continue;
      const Group group = carried                                    ? kState
                          : info.role == TensorRole::kHyperparameter ? kHyperparameters
                                                                     : kBatches;
      if (groups[group].first) continue;
      add(group, m_reader.compare({rankA, rankB, step.a, step.b}, tensors[i], false, {}));
    }
  }

  void compareWhole(const Step& step, Rank rankA, Rank rankB) {
    const AlignedPair& pair = m_pairs.of(rankA, step.a, rankB, step.b);
    for (const AlignedTensor& tensor : pair.alignment.tensors) {
      const TensorRole role = m_a.graph().tensor(tensor.a).role;
      if ((role != TensorRole::kInput && role != TensorRole::kLabel) || groups[kBatches].first) continue;
      const auto whole = bytesOfAll(m_a, step.a, tensor.a), theirs = bytesOfAll(m_b, step.b, tensor.b);
      if (whole.empty() || theirs.empty()) continue;
      TensorComparison one{.rankA = rankA,
                           .rankB = rankB,
                           .iterationA = step.a,
                           .iterationB = step.b,
                           .a = tensor.a,
                           .b = tensor.b};
      one.by = ComparedBy::kValues;
      one.verdict = whole == theirs ? Agreement::kEqual : Agreement::kDifferent;
      add(kBatches, one);
    }
  }

 private:
  void add(Group group, const TensorComparison& one) {
    if (one.verdict == Agreement::kUnknown) return;
    ++groups[group].compared;
    if (one.verdict != Agreement::kEqual) groups[group].first = one;
  }

  // Of all ranks, one behind the other: rows are the first dimension. Empty: not of all of them.
  static std::vector<std::byte> bytesOfAll(Run& run, Iteration iteration, TensorId tensor) {
    const std::vector<Rank> ranks = run.ranks();
    if (static_cast<int>(ranks.size()) != run.rankCount()) return {};
    std::vector<std::byte> bytes;
    for (const Rank rank : ranks) {
      if (!hasStep(run, rank, iteration)) return {};
      const Result<Tensor> value = run.value(rank, iteration, tensor);
      if (!value.ok()) return {};
      const auto span = value->byteSpan();
      bytes.insert(bytes.end(), span.begin(), span.end());
    }
    return bytes;
  }

  Run& m_a;
  Run& m_b;
  AlignedPairs& m_pairs;
  PairReader& m_reader;
};

}  // namespace

Result<std::vector<GivenGroup>> compareGiven(Run& a, Run& b, AlignedPairs& pairs, PairReader& reader,
                                             const RankPairs& ranks, const std::vector<Step>& steps,
                                             const core::CancelToken& cancel) {
  Givens givens(a, b, pairs, reader);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (cancel.cancelled()) return Error(ErrorCode::kCancelled, "interrupted");
    for (const auto& [rankA, rankB] : ranks) {
      if (!hasStep(a, rankA, steps[i].a) || !hasStep(b, rankB, steps[i].b)) continue;
      givens.compare(steps[i], rankA, rankB, i == 0);
      if (pairs.judging() == Judging::kReduced && i < kWholeBatches)
        givens.compareWhole(steps[i], rankA, rankB);
    }
  }
  return std::move(givens.groups);
}

}  // namespace msdbg::replay
