#include "dump/hits/hit_votes.h"

#include <algorithm>
#include <span>

#include "core_engine/tensor/statistics.h"

namespace msdbg::dump {
namespace {

using core::DType;
using core::Tensor;

constexpr std::size_t kFields = 2;             // of a rank: watchpoint + 1 (0: no hit), order + 1
constexpr std::int64_t kMost = (1 << 24) - 2;  // float32 is exact so far
constexpr std::int64_t kLongestText = 64 << 10;

}  // namespace

core::Result<std::vector<std::optional<HitVote>>> exchangeVotes(core::Communicator* communicator,
                                                                const std::optional<HitVote>& mine) {
  if (!communicator || communicator->size() == 1) return std::vector<std::optional<HitVote>>{mine};
  const auto ranks = static_cast<std::size_t>(communicator->size());
  const core::Shape shape{static_cast<std::int64_t>(kFields * ranks)};
  Tensor own = Tensor::zeros(DType::Float32, shape), all = Tensor::zeros(DType::Float32, shape);
  if (mine) {
    const std::size_t at = kFields * communicator->rank().index();
    own.data<float>()[at] = static_cast<float>(mine->watchpoint + 1);
    own.data<float>()[at + 1] = static_cast<float>(std::min(mine->order, kMost) + 1);
  }
  MSDBG_TRY(communicator->allreduceSum(own, all));
  std::vector<std::optional<HitVote>> votes(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto watchpoint = static_cast<std::int64_t>(all.data<float>()[kFields * rank]);
    const auto order = static_cast<std::int64_t>(all.data<float>()[kFields * rank + 1]) - 1;
    if (watchpoint > 0) votes[rank] = HitVote{watchpoint - 1, order};
  }
  return votes;
}

core::Result<std::string> textOfRank(core::Communicator* communicator, core::Rank from, std::string mine) {
  if (!communicator || communicator->size() == 1) return mine;
  auto length = std::min(static_cast<std::int64_t>(mine.size()), kLongestText);
  MSDBG_TRY(communicator->broadcast(std::as_writable_bytes(std::span(&length, 1)), from));
  mine.resize(static_cast<std::size_t>(length));
  MSDBG_TRY(communicator->broadcast(std::as_writable_bytes(std::span(mine)), from));
  return mine;
}

// Four times 16 bits of a hash: the sum of equal ones is exact, and a multiple of one's own.
core::Status agreeOnText(core::Communicator& communicator, const std::string& text, const std::string& what) {
  if (communicator.size() == 1) return core::Ok{};
  const std::uint64_t hash = core::hashBytes(std::as_bytes(std::span(text.data(), text.size()))).low;
  std::vector<float> parts;
  for (int shift = 0; shift < 64; shift += 16) parts.push_back(static_cast<float>(hash >> shift & 0xffff));
  const Tensor own = Tensor::of<float>({4}, parts);
  Tensor sum = Tensor::zeros(DType::Float32, {4});
  MSDBG_TRY(communicator.allreduceSum(own, sum));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (sum.data<float>()[i] != parts[i] * static_cast<float>(communicator.size()))
      return core::Error(core::ErrorCode::kUsage, "rank " + std::to_string(communicator.rank().value) + ": " +
                                                      what + " is not the same on all ranks");
  return core::Ok{};
}

}  // namespace msdbg::dump
