// An autoencoder with a loss and a loader of its own: what to write when neither is built in.
//
//   build/autoencoder
//   msdbg dump -- build/autoencoder
#include <msdbg/msdbg.h>

#include <cmath>
#include <iostream>

namespace {

constexpr std::int64_t kRows = 32, kPoints = 64, kCode = 4;

// A loss is any scalar Value. This one is the mean squared error, and a little for codes that grow.
msdbg::Value reconstructionLoss(msdbg::Value output, msdbg::Value target, msdbg::Value code) {
  const auto error = output - target;
  return reduceMean(error * error, {}, /*keepdims=*/false) + reduceMean(code * code, {}, false) * 1e-3;
}

// Waves of random frequency and phase. Any batch can be asked for, in any order and by any rank: the numbers
// follow from the seed and the row's place in the whole training alone, so that training can be repeated.
class Waves : public msdbg::DataLoader {
 public:
  explicit Waves(std::uint64_t seed) : m_seed(seed) {}

  msdbg::Batch batch(msdbg::core::Iteration iteration, msdbg::core::Rank rank, int ranks) const override {
    auto waves = msdbg::Tensor::zeros(msdbg::DType::Float32, {kRows, kPoints});
    const std::span<float> values = waves.data<float>();
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::int64_t sample = (iteration.value * ranks + rank.value) * kRows + row;
      const double frequency = 1 + 3 * unit(2 * sample), phase = 6.28 * unit(2 * sample + 1);
      for (std::int64_t i = 0; i < kPoints; ++i)
        values[static_cast<std::size_t>(row * kPoints + i)] =
            static_cast<float>(std::sin(frequency * static_cast<double>(i) / 10 + phase));
    }
    return {iteration, {{"wave", waves}}};  // by the names of the graph's inputs
  }
  std::int64_t batchSize() const override { return kRows; }
  std::int64_t iterationsPerEpoch(int) const override { return 200; }
  std::string description() const override { return "sine waves of random frequency and phase"; }

 private:
  // In [0, 1), drawn by hashing (SplitMix64).
  double unit(std::int64_t index) const {
    std::uint64_t x =
        m_seed * 0x2545F4914F6CDD1Dull + static_cast<std::uint64_t>(index + 1) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return static_cast<double>((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
  }
  std::uint64_t m_seed;
};

}  // namespace

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);
  msdbg::Graph g("autoencoder");
  const auto wave = g.input("wave", {kRows, kPoints});
  msdbg::Value code, output;
  {
    const auto scope = g.scope("encoder");
    code = linear(tanh(linear(wave, {.out = 32, .deviation = 0.1})), {.out = kCode, .deviation = 0.2});
  }
  {
    const auto scope = g.scope("decoder");
    output = linear(tanh(linear(code, {.out = 32, .deviation = 0.3})), {.out = kPoints, .deviation = 0.2});
  }
  msdbg::Trainer trainer(run, g, reconstructionLoss(output, wave, code), msdbg::Adam{.lr = 3e-3});
  const Waves loader(run.seed());
  for (const msdbg::Batch& batch : run.shard(loader)) {
    const msdbg::StepResult step = trainer.step(batch);
    if (run.rank().value == 0 && batch.iteration.value % 20 == 0)
      std::cout << "iteration " << batch.iteration.value << "  loss " << step.loss << "\n";
  }
}
