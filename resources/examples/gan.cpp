// Two networks against each other in one Trainer: each learns by its own loss, because stopGradient() makes
// the other one a constant.
//
//   build/gan
//   msdbg dump -- build/gan
#include <msdbg/msdbg.h>

#include <cmath>
#include <iostream>
#include <numbers>

using msdbg::Value;

namespace {

constexpr std::int64_t kRows = 64, kNoise = 4, kWidth = 32;

// Points of a circle, and noise to make points of. A function of seed and place, as every loader should be.
class Circle : public msdbg::DataLoader {
 public:
  explicit Circle(std::uint64_t seed) : m_seed(seed) {}

  msdbg::Batch batch(msdbg::Iteration iteration, msdbg::Rank rank, int ranks) const override {
    auto real = msdbg::Tensor::zeros(msdbg::DType::Float32, {kRows, 2});
    auto noise = msdbg::Tensor::zeros(msdbg::DType::Float32, {kRows, kNoise});
    const std::span<float> points = real.data<float>(), drawn = noise.data<float>();
    std::int64_t next = (iteration.value * ranks + rank.value) * kRows * (kNoise + 1);
    for (std::size_t row = 0; row < kRows; ++row) {
      const double angle = 2 * std::numbers::pi * unit(next++);
      points[2 * row] = static_cast<float>(std::cos(angle));
      points[2 * row + 1] = static_cast<float>(std::sin(angle));
      for (std::size_t i = 0; i < kNoise; ++i)
        drawn[row * kNoise + i] = static_cast<float>(2 * unit(next++) - 1);
    }
    return {iteration, {{"real", real}, {"noise", noise}}};
  }
  std::int64_t batchSize() const override { return kRows; }
  std::int64_t iterationsPerEpoch(int) const override { return 1000; }
  std::string description() const override { return "points of a circle"; }

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

// A layer makes its parameters anew with every call. What is to be used three times holds its own.
class Critic {
 public:
  explicit Critic(msdbg::Graph& g) {
    const auto scope = g.scope("critic");
    m_in = g.parameter("in", {2, kWidth}, msdbg::Init::normal(0.7));
    m_bias = g.parameter("bias", {kWidth}, msdbg::Init::zeros());
    m_out = g.parameter("out", {kWidth, 1}, msdbg::Init::normal(0.2));
  }
  /// Logits of "this is real"; `constant`: what reads them does not teach the critic.
  Value judge(Value points, bool constant = false) const {
    const auto weight = [&](Value parameter) { return constant ? stopGradient(parameter) : parameter; };
    return matmul(leakyRelu(matmul(points, weight(m_in)) + weight(m_bias), 0.2), weight(m_out));
  }

 private:
  Value m_in, m_bias, m_out;
};

}  // namespace

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);
  msdbg::Graph g("gan");
  const auto real = g.input("real", {kRows, 2}), noise = g.input("noise", {kRows, kNoise});
  Value made;
  {
    const auto scope = g.scope("generator");
    made = linear(tanh(linear(noise, {.out = kWidth})), {.out = 2});
  }
  keep(made);
  const Critic critic(g);
  const auto is = msdbg::constant(g, 1, {kRows, 1}), isNot = msdbg::constant(g, 0, {kRows, 1});
  const Value learnt = binaryCrossEntropyWithLogits(critic.judge(real), is) +
                       binaryCrossEntropyWithLogits(critic.judge(stopGradient(made)), isNot);
  const Value fooled = binaryCrossEntropyWithLogits(critic.judge(made, /*constant=*/true), is);
  msdbg::Trainer trainer(run, g, learnt + fooled, msdbg::Adam{.lr = 2e-3, .beta1 = 0.5});
  const Circle loader(run.seed());
  for (const msdbg::Batch& batch : run.shard(loader)) {
    trainer.step(batch);
    if (run.rank().value != 0 || batch.iteration.value % 100 != 99) continue;
    const msdbg::Tensor points = trainer.value(made);
    double radius = 0;
    for (std::int64_t row = 0; row < kRows; ++row)
      radius += std::hypot(points.at(2 * row), points.at(2 * row + 1)) / kRows;
    std::cout << "iteration " << batch.iteration.value << "  mean radius of what is made " << radius << "\n";
  }
}
