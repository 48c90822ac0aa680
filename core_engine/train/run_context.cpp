#include "core_engine/train/run_context.h"

#include <algorithm>
#include <stdexcept>

#include "core_engine/runtime/backend.h"

namespace msdbg::core {
namespace {

// A signal reaches the ranks at different iterations; those that went on would wait for the others for ever.
bool agreedToStop(RunContext& context) {
  const bool wanted = context.stopRequested();
  return context.sum({wanted ? 1.0 : 0.0})[0] > 0;
}

}  // namespace

BackendKind RunContext::backend() const { return BackendKind::kFast; }

Shard RunContext::shard(const DataLoader& loader, std::int64_t wanted, Iteration first) {
  if (wanted > 0) return {*this, loader, wanted, first};
  const std::int64_t all = steps(loader.iterationsPerEpoch(ranks()));
  const Status usable = checkLoader(loader, ranks());
  if (all < 1 && !usable.ok()) throw std::runtime_error(usable.error().message());
  return {*this, loader, all, first};
}

std::vector<double> RunContext::sum(std::vector<double> values) {
  if (ranks() == 1) return values;
  const Shape shape{static_cast<std::int64_t>(values.size())};
  Tensor sums = Tensor::zeros(DType::Float64, shape);
  const Status status = communicator().allreduceSum(Tensor::of<double>(shape, values), sums);
  if (!status.ok())
    throw std::runtime_error("rank " + std::to_string(rank().value) +
                             ", between iterations: " + status.error().message());
  std::ranges::copy(sums.data<double>(), values.begin());
  return values;
}

Shard::Iterator::Iterator(Shard& shard, std::int64_t at) : m_shard(shard), m_at(at) { load(); }

Shard::Iterator& Shard::Iterator::operator++() {
  ++m_at;
  load();
  return *this;
}

void Shard::Iterator::load() {
  if (m_at >= m_shard.m_end) return;
  RunContext& context = m_shard.m_context;
  if (agreedToStop(context))
    m_at = m_shard.m_end;
  else
    m_batch = m_shard.m_loader.batch(Iteration{m_at}, context.rank(), context.ranks());
}

}  // namespace msdbg::core
