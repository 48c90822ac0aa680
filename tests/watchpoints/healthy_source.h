// A small run whose every row is there and has nothing wrong with it; tests spoil what they ask about.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/watchpoints/fake_source.h"
#include "tests/watchpoints/small_graph.h"
#include "watchpoints/activation_preset.h"
#include "watchpoints/check.h"

namespace msdbg::test {

inline FakeSource healthySource(int ranks, int iterations, const std::string& activation = "Relu",
                                const core::Attributes& update = {}) {
  FakeSource source(modelGraph(activation, update), ranks, iterations);
  for (int rank = 0; rank < ranks; ++rank)
    for (int k = 0; k < iterations; ++k)
      for (const core::TensorInfo& info : source.graph().tensors()) {
        watch::StatisticsRow& row = source.row(rank, k, info.id);
        core::TensorStatistics& s = row.values;
        s.count = info.shape.elements();
        s.positive = s.count;
        s.min = 0.5, s.max = 1.5, s.mean = s.meanAbs = 1, s.std = 0.1;
        s.l1 = static_cast<double>(s.count);
        s.hash = {static_cast<std::uint64_t>(info.id.value), static_cast<std::uint64_t>(k)};
        if (info.alias == "grad(network/fc/weight)") s.mean = s.meanAbs = ranks;  // the sum
        if (info.updateOf.valid()) row.change = core::ChangeStatistics{0.01, 0.02, 1, s.count, 0};
        if (watch::activationPreset(activation) && !info.isSource())
          row.activation = core::ActivationStatistics{0.5, 0};
      }
  return source;
}

/// As the recommended set has the condition.
inline watch::CheckReport runRecommended(FakeSource& source, const std::string& id) {
  std::vector<watch::Watchpoint> set = watch::recommendedSet();
  std::erase_if(set, [&](const watch::Watchpoint& w) { return w.condition->id != id; });
  return watch::check(source, set, {});
}

inline const watch::Hit& only(const std::vector<watch::Hit>& hits) {
  REQUIRE(hits.size() == 1);
  return hits.front();
}

}  // namespace msdbg::test
