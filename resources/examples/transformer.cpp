// A small language model on bytes: attention with causal mask, layer normalisation first, AdamW with warm-up,
// a cosine and clipped gradients.
//
//   build/transformer --steps 200
//   msdbg dump -- build/transformer --steps 200
//   build/transformer FILE.txt          learns a text of yours
#include <msdbg/msdbg.h>

#include <cmath>
#include <iostream>
#include <string>

namespace {

constexpr std::int64_t kRows = 8, kContext = 32, kWidth = 64, kHeads = 4, kLayers = 2, kBytes = 256;
constexpr std::int64_t kHeadWidth = kWidth / kHeads;

// [rows * context, width] -> [rows, heads, context, width / heads]
msdbg::Value heads(msdbg::Graph& g, const char* name, msdbg::Value x) {
  const auto scope = g.scope(name);
  x = linear(x, {.out = kWidth, .bias = false, .deviation = 0.07});
  return transpose(reshape(x, {kRows, kContext, kHeads, kHeadWidth}), {0, 2, 1, 3});
}

msdbg::Value attention(msdbg::Graph& g, msdbg::Value x) {
  const auto scope = g.scope("attention");
  const auto query = heads(g, "query", x), key = heads(g, "key", x), value = heads(g, "value", x);
  const auto scores = matmul(query, transpose(key, {0, 1, 3, 2})) * (1 / std::sqrt(double(kHeadWidth)));
  // A place sees itself and what is before it: [context, context], 1 where it is not to look.
  const auto place = range(g, kContext);
  const auto after = greater(unsqueeze(place, {0}), unsqueeze(place, {1}));
  const auto weights = softmax(scores + cast(after, msdbg::DType::Float32) * -1e9);
  const auto mixed = transpose(matmul(weights, value), {0, 2, 1, 3});
  return linear(reshape(mixed, {kRows * kContext, kWidth}), {.out = kWidth, .deviation = 0.07});
}

msdbg::Value normalised(msdbg::Graph& g, const char* name, msdbg::Value x) {
  const auto scope = g.scope(name);
  return layerNorm(x);
}

msdbg::Value block(msdbg::Graph& g, msdbg::Value x) {
  x = x + attention(g, normalised(g, "norm1", x));
  auto y = normalised(g, "norm2", x);
  {
    const auto scope = g.scope("fc1");
    y = gelu(linear(y, {.out = 4 * kWidth, .deviation = 0.07}));
  }
  const auto scope = g.scope("fc2");
  return x + linear(y, {.out = kWidth, .deviation = 0.04});
}

msdbg::Value embedded(msdbg::Graph& g, msdbg::Value bytes) {
  msdbg::Value x, places;
  {
    const auto scope = g.scope("bytes");
    x = embedding(bytes, {.count = kBytes, .width = kWidth});
  }
  {
    const auto scope = g.scope("places");
    places = embedding(range(g, kContext), {.count = kContext, .width = kWidth});
  }
  return reshape(x + places, {kRows * kContext, kWidth});
}

}  // namespace

int main(int argc, char** argv) {
  msdbg::Session run(argc, argv);
  msdbg::Graph g("transformer");
  const auto bytes = g.input("x", {kRows, kContext}, msdbg::DType::Int64);
  const auto next = g.input("label", {kRows, kContext}, msdbg::DType::Int64);
  auto x = embedded(g, bytes);
  for (int i = 0; i < kLayers; ++i) {
    const auto scope = g.scope("block" + std::to_string(i));
    x = block(g, x);
  }
  x = normalised(g, "norm", x);
  msdbg::Value logits;
  {
    const auto scope = g.scope("head");
    logits = linear(x, {.out = kBytes, .bias = false, .deviation = 0.07});
  }
  const auto loss = softmaxCrossEntropy(logits, reshape(next, {kRows * kContext}));

  const std::string text = argc > 1 && argv[1][0] != '-' ? "text:" + std::string(argv[1]) : "words";
  const auto loader =
      msdbg::makeLoader(text, {.sequence = kContext, .vocabulary = kBytes, .batch = kRows}).orThrow();
  msdbg::Optimizer optimizer = msdbg::AdamW{.lr = 1e-3, .weightDecay = 0.01};
  optimizer.schedule = msdbg::cosineSchedule(run.steps(200), 0.1, /*warmUp=*/10);
  optimizer.clipNorm = 1;
  msdbg::Trainer trainer(run, g, loss, optimizer);
  for (const msdbg::Batch& batch : run.shard(*loader, run.steps(200))) {
    const msdbg::StepResult step = trainer.step(batch);
    if (run.rank().value == 0 && batch.iteration.value % 20 == 0)
      std::cout << "iteration " << batch.iteration.value << "  loss " << step.loss << "\n";
  }
}
