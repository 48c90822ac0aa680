// A training that goes wrong at iteration 41,237, when a sensor has drifted below zero: what the guide's "A
// night's run" asks about (guide/replay.md). Nine seconds, recorded.
//
//   msdbg dump --policy stats -o night.msdbg -- build/night
#include <msdbg/msdbg.h>

#include <cmath>
#include <random>

namespace {

constexpr std::int64_t kRows = 32, kReadings = 8, kIterations = 41'260;

/// The energy that a machine takes, and eight readings from which it follows.
class Readings : public msdbg::DataLoader {
 public:
  msdbg::Batch batch(msdbg::core::Iteration iteration, msdbg::core::Rank rank, int ranks) const override {
    auto x = msdbg::Tensor::zeros(msdbg::DType::Float32, {kRows, kReadings});
    auto energy = msdbg::Tensor::zeros(msdbg::DType::Float32, {kRows, 1});
    std::mt19937 random(static_cast<unsigned>(iteration.value * ranks + rank.value));
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t i = 0; i < kReadings; ++i) {
        const double reading = 0.5 + 1.5 * static_cast<double>(random()) / 4294967296.0;
        x.data<float>()[row * kReadings + i] = static_cast<float>(reading);
        energy.data<float>()[row] +=
            static_cast<float>(std::log(reading) * 0.2 * (static_cast<double>(i) - 3));
      }
    if (iteration.value == 41'237) x.data<float>()[13 * kReadings + 5] = -0.031f;
    return {iteration, {{"readings", x}, {"energy", energy}}};
  }
  std::int64_t batchSize() const override { return kRows; }
  std::int64_t iterationsPerEpoch(int) const override { return kIterations; }
  std::string description() const override { return "readings of eight sensors"; }
};

}  // namespace

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);
  msdbg::Graph g("energy");
  const auto readings = g.input("readings", {kRows, kReadings}), energy = g.input("energy", {kRows, 1});
  auto x = log(readings);
  {
    const auto scope = g.scope("hidden");
    x = tanh(linear(x, {.out = 24}));
  }
  {
    const auto scope = g.scope("out");
    x = linear(x, {.out = 1});
  }
  msdbg::Trainer trainer(run, g, meanSquaredError(x, energy), msdbg::Adam{.lr = 1e-3});
  const Readings loader;
  for (const msdbg::Batch& batch : run.shard(loader)) trainer.step(batch);
}
