// Statistics that are taken while an update writes over what it replaces: the same numbers as from both
// values, and the same training.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core_engine/models/model.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;

namespace {

constexpr int kIterations = 3;

std::string textOf(const TensorObservation& seen) {
  const TensorStatistics& v = seen.values;
  const ChangeStatistics& c = seen.change.value();
  std::string text = v.hash.text() + " " + hashOfBlocks(seen.blocks).text();
  for (const std::int64_t n :
       {v.count, v.nan, v.posInf, v.negInf, v.zero, v.negative, v.positive, c.outsideTolerance, c.skipped})
    text += " " + std::to_string(n);
  for (const double x : {v.min, v.max, v.mean, v.meanAbs, v.std, v.l1, v.l2, c.meanAbsChange, c.maxAbsChange,
                         c.meanAbsPrevious})
    text += " " + (std::isnan(x) ? "nan" : std::to_string(std::bit_cast<std::uint64_t>(x)));
  return text;
}

/// What it is told of updates, or computes from both values.
class Watcher : public Observer {
 public:
  explicit Watcher(UpdateWish wish) : m_wish(wish) {}
  void graphReady(const Graph& graph) override { m_graph = &graph; }
  void iterationStarted(Iteration) override {}
  UpdateWish updateWish(Iteration, TensorId tensor) override {
    CHECK(m_graph->tensor(tensor).updateOf.valid());
    return m_wish;
  }
  void tensorReady(const TensorReady& ready) override {
    if (!m_graph->tensor(ready.tensor).updateOf.valid()) return;
    const std::pair key(ready.iteration.value, ready.tensor.value);
    hashes[key] = hashTensor(ready.value).text();
    if (m_wish == UpdateWish::kNothing) return;
    CHECK((ready.previous == nullptr) == (ready.update != nullptr));
    if (ready.previous) {
      texts[key] = textOf(observeTensor(ready.value, {.previous = ready.previous}));
    } else {
      CHECK(ready.update->seconds >= 0);
      ++told;
      texts[key] = textOf(ready.update->seen);
    }
  }
  void iterationFinished(Iteration, const Scalars&) override {}

  std::map<std::pair<std::int64_t, std::int64_t>, std::string> texts, hashes;  // by iteration and tensor
  int told = 0;

 private:
  UpdateWish m_wish;
  const Graph* m_graph = nullptr;
};

std::string train(const ModelInfo& model, Observer* observer, int threads, double rate, const char* fault) {
  ModelOptions options{.batch = 2, .size = model.size};
  options.size.layers = std::min<std::int64_t>(options.size.layers, 1);
  Graph graph("network");
  const Value loss = model.build(graph, options);
  msdbg::test::PlainRun run;
  run.watching = observer;
  run.threadCount = threads;
  if (*fault) run.planted = {parseFault(fault).orThrow()};
  LoaderOptions wanted;
  wanted.image = model.image, wanted.batch = options.batch;
  wanted.sequence = model.size.context, wanted.vocabulary = model.size.vocabulary;
  const auto loader = makeLoader(model.readsText() ? "words" : "digits", wanted).orThrow();
  Optimizer optimizer = model.optimizer;
  std::visit([&](auto& rule) { rule.lr = rate > 0 ? rate : rule.lr; }, optimizer.rule);
  Trainer trainer(run, graph, loss, optimizer);
  for (const Batch& batch : run.shard(*loader, kIterations)) trainer.step(batch);
  std::string carried;
  for (const auto& [name, tensor] : trainer.state().tensors)
    carried += name + " " + hashTensor(tensor).text() + "\n";
  return carried;
}

void compare(const char* name, double rate = 0, const char* fault = "") {
  INFO(name << " rate " << rate << " " << fault);
  const ModelInfo& model = *findModel(name);
  for (const int threads : {1, 2}) {
    Watcher apart(UpdateWish::kPrevious);
    const std::string carried = train(model, &apart, threads, rate, fault);
    CHECK(apart.told == 0);
    Watcher inPlace(UpdateWish::kStatistics), nothing(UpdateWish::kNothing);
    CHECK(train(model, &inPlace, threads, rate, fault) == carried);
    CHECK(inPlace.texts == apart.texts);
    CHECK(inPlace.hashes == apart.hashes);
    CHECK(inPlace.told > 0);
    CHECK(train(model, &nothing, threads, rate, fault) == carried);
    CHECK(nothing.hashes == apart.hashes);
  }
}

}  // namespace

TEST_CASE("Statistics of updates in place are those of both values: SGD, alone and in groups") {
  compare("mlp");
  compare("lenet5");
}

TEST_CASE("Statistics of updates in place are those of both values: Adam") { compare("gpt"); }

TEST_CASE("Statistics of updates in place are those of both values when they overflow") {
  compare("mlp", 1e38);
}

TEST_CASE("A faulty update lies apart, with both values, beside others in place") {
  compare("lenet5", 0, "nan@iteration=1,node=update/network/fc1/SgdUpdate-op1");
}
