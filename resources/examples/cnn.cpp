// A small convolutional network with batch normalisation, trained by epochs with `fit`: held-out data, a rate
// that falls when nothing gets better, and an early end.
//
//   build/cnn                        trains
//   msdbg dump -- build/cnn          trains and records; then: msdbg check, msdbg open
#include <msdbg/msdbg.h>

#include <iostream>

namespace {

constexpr std::int64_t kBatch = 32, kClasses = 10;

// Convolution, normalisation, activation: the nodes carry these lines, and the line of whoever calls it.
msdbg::Value block(msdbg::Graph& g, const char* name, msdbg::Value x, std::int64_t channels) {
  const auto scope = g.scope(name);
  x = conv(x, {.out = channels, .kernel = 3, .pad = 1, .bias = false});
  return maxPool(relu(batchNorm(x)));
}

msdbg::Value model(msdbg::Graph& g, msdbg::Value x) {
  x = block(g, "conv1", x, 8);
  x = block(g, "conv2", x, 16);
  const auto scope = g.scope("head");
  return linear(flatten(x), {.out = kClasses});
}

void print(const msdbg::Round& round) {
  std::cout << "epoch " << round.number << ":";
  for (const auto& [name, value] : round.metrics) std::cout << "  " << name << " " << value;
  std::cout << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);  // reads --steps, --seed, --threads; records when it is asked to
  msdbg::Graph g("cnn");
  const auto x = g.input("x", {kBatch, 1, 28, 28});
  const auto label = g.input("label", {kBatch}, msdbg::DType::Int64);
  const auto loss = softmaxCrossEntropy(model(g, x), label);

  // Drawn digits; "mnist:FOLDER" and "cifar10:FOLDER" read images from disk.
  const auto train =
      msdbg::makeLoader("digits", {.batch = kBatch, .firstSample = 0, .samples = 960}).orThrow();
  const auto heldOut =
      msdbg::makeLoader("digits", {.batch = kBatch, .firstSample = 960, .samples = 320, .shuffle = false})
          .orThrow();

  msdbg::Trainer trainer(run, g, loss, msdbg::Sgd{.lr = 0.05, .momentum = 0.9});
  msdbg::ReduceLROnPlateau slower({.factor = 0.5, .patience = 1});
  msdbg::EarlyStopping stopping({.patience = 3, .restoreBest = true});
  const msdbg::FitResult result =
      trainer.fit(*train, {.epochs = 3, .heldOut = heldOut.get(), .callbacks = {&slower, &stopping}});
  if (run.rank().value == 0)
    for (const msdbg::Round& round : result.rounds) print(round);
}
