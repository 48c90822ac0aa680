// What waits between training and the disk: values that newer ones would drop are never written, and a wait
// for several commits is no standstill.
#include "dump/writer/pending_iterations.h"

#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "dump/writer/outliers.h"
#include "tests/dump/recorded_run.h"

using namespace msdbg;
using namespace msdbg::dump;

namespace {

constexpr std::uint64_t kRow = 1000;  // bytes of the values of an iteration

std::shared_ptr<const GraphPlan> planOfSmallGraph() {
  const core::Graph graph = test::smallGraph();
  const RecordOptions options;
  return std::make_shared<const GraphPlan>(graph, 0, Decisions::make(graph, options, core::Rank(0)).orThrow(),
                                           options, 1);
}

TensorRow rowOf(std::uint64_t bytes) {
  TensorRow row;
  row.shape = {bytes / 4};
  row.rawBytes = bytes;
  return row;
}

/// Of training: an iteration with a value of a tensor and one of a batch.
void put(PendingIterations& pending, const std::shared_ptr<const GraphPlan>& plan, std::int64_t iteration) {
  auto record = std::make_shared<IterationRecord>();
  record->iteration = iteration;
  record->plan = plan;
  record->statistics.resize(plan->graph.tensors().size());
  record->seen.resize(plan->graph.tensors().size());
  pending.begin(record);
  pending.addRow({Section::kTensor, 0}, rowOf(kRow));
  pending.addRow({Section::kBatch, 0}, rowOf(40));
  pending.finish({});
}

struct Committed {
  std::set<std::int64_t> iterations, values, batches;
};

/// What the background thread is given until all is handed out.
Committed commitAll(PendingIterations& pending) {
  pending.close();
  Committed all;
  while (true) {
    const PendingIterations::Work work = pending.next();
    if (std::holds_alternative<PendingIterations::Stop>(work)) return all;
    const auto& segment = std::get<PendingIterations::Commit>(work);
    for (const auto& record : segment.records) {
      all.iterations.insert(record->iteration);
      for (const auto& [key, row] : record->rows)
        (key.section == Section::kTensor ? all.values : all.batches).insert(record->iteration);
    }
    pending.committed(segment, std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("Values that newer ones would drop go before they are written; batches and what is needed stay") {
  const auto plan = planOfSmallGraph();
  PendingIterations pending(1 << 20, 3 * kRow);
  pending.keepNewest(3 * kRow, [](std::int64_t iteration) { return iteration == 4; });
  for (std::int64_t k = 0; k < 20; ++k) put(pending, plan, k);
  const Committed all = commitAll(pending);
  CHECK(all.iterations.size() == 20);
  CHECK(all.batches.size() == 20);
  CHECK(all.values == std::set<std::int64_t>{4, 17, 18, 19});
}

TEST_CASE("Without such a limit, or where memory ends before it, all values are written") {
  const auto plan = planOfSmallGraph();
  for (const std::uint64_t bytes : {std::uint64_t{0}, 3 * kRow}) {
    PendingIterations pending(8 * kRow, 3 * kRow);
    pending.keepNewest(bytes, [](std::int64_t) { return false; });
    for (std::int64_t k = 0; k < 6; ++k) put(pending, plan, k);
    CHECK(commitAll(pending).values.size() == 6);
  }
}

TEST_CASE("What is about to be committed is overtaken by nothing that comes meanwhile") {
  const auto plan = planOfSmallGraph();
  PendingIterations pending(1 << 20, 3 * kRow);
  pending.keepNewest(3 * kRow, [](std::int64_t) { return false; });
  for (std::int64_t k = 0; k < 5; ++k) put(pending, plan, k);
  pending.requestCommit();
  std::set<std::int64_t> values;
  const auto take = [&] {
    const PendingIterations::Work work = pending.next();
    const auto& segment = std::get<PendingIterations::Commit>(work);
    for (const auto& record : segment.records)
      for (const auto& [key, row] : record->rows)
        if (key.section == Section::kTensor) values.insert(record->iteration);
    pending.committed(segment, std::chrono::milliseconds(1));
  };
  take();
  for (std::int64_t k = 5; k < 15; ++k) put(pending, plan, k);
  const Committed rest = commitAll(pending);
  values.insert(rest.values.begin(), rest.values.end());
  CHECK(values == std::set<std::int64_t>{2, 3, 4, 12, 13, 14});
}

TEST_CASE("The newest values are written whenever a segment is full of iterations that lost theirs") {
  const auto plan = planOfSmallGraph();
  PendingIterations pending(1 << 20, 8 * statisticsBytesOf(*plan));
  pending.commitWithin(std::chrono::hours(1));
  pending.keepNewest(2 * kRow, [](std::int64_t) { return false; });
  for (std::int64_t k = 0; k < 40; ++k) put(pending, plan, k);
  std::set<std::int64_t> values;
  for (std::int64_t last = -1; last < 39;) {
    const PendingIterations::Work work = pending.next();
    const auto& segment = std::get<PendingIterations::Commit>(work);
    last = segment.records.back()->iteration;
    for (const auto& record : segment.records)
      if (record->rows.contains({Section::kTensor, 0})) values.insert(record->iteration);
    pending.committed(segment, std::chrono::milliseconds(1));
  }
  CHECK(values == std::set<std::int64_t>{38, 39});
}

TEST_CASE("Who waits for several commits tells of each: it does not stand still") {
  const auto plan = planOfSmallGraph();
  PendingIterations pending(1 << 20, 1);  // a segment each
  std::atomic<int> told{0};
  pending.whileWaiting([&] { ++told; });
  for (std::int64_t k = 0; k < 6; ++k) put(pending, plan, k);
  std::thread training([&] { pending.commitAll(); });
  for (int k = 0; k < 6; ++k) {
    const PendingIterations::Work work = pending.next();
    pending.committed(std::get<PendingIterations::Commit>(work), std::chrono::milliseconds(1));
    for (int tries = 0; tries < 1000 && told <= k; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  training.join();
  CHECK(told >= 5);
}
