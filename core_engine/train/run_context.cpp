#include "core_engine/train/run_context.h"

#include <stdexcept>

namespace msdbg::core {
namespace {

// A signal reaches the ranks at different iterations; those that went on would wait for the others for ever.
bool agreedToStop(RunContext& context) {
  const bool wanted = context.stopRequested();
  if (context.ranks() == 1) return wanted;
  Tensor votes = Tensor::zeros(DType::Float32, {1});
  const Tensor mine = Tensor::of<float>({1}, std::vector<float>{wanted ? 1.0f : 0.0f});
  const Status status = context.communicator().allreduceSum(mine, votes);
  if (!status.ok())
    throw std::runtime_error("rank " + std::to_string(context.rank().value) +
                             ", between iterations: " + status.error().message());
  return votes.at(0) > 0;
}

}  // namespace

Shard RunContext::shard(const DataLoader& loader, std::int64_t wanted) {
  return {*this, loader, wanted > 0 ? wanted : steps(loader.iterationsPerEpoch(ranks()))};
}

Shard::Iterator::Iterator(Shard& shard, std::int64_t at) : m_shard(shard), m_at(at) { load(); }

Shard::Iterator& Shard::Iterator::operator++() {
  ++m_at;
  load();
  return *this;
}

void Shard::Iterator::load() {
  if (m_at >= m_shard.m_steps) return;
  RunContext& context = m_shard.m_context;
  if (agreedToStop(context))
    m_at = m_shard.m_steps;
  else
    m_batch = m_shard.m_loader.batch(Iteration{m_at}, context.rank(), context.ranks());
}

}  // namespace msdbg::core
