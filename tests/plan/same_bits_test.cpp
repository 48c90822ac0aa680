// The contract of the passes (DESIGN.md, "Determinism"): whichever are on, and whoever observes, parameters
// and everything an observer sees have the same bits.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core_engine/models/model.h"
#include "core_engine/plan/pipeline.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/tensor/statistics.h"
#include "core_engine/train/trainer.h"
#include "tests/train/plain_run.h"

using namespace msdbg::core;

namespace {

constexpr int kIterations = 20, kFewIterations = 3, kFaultyIterations = 6, kThreads = 2;

/// Keeps the hash of every tensor it is shown: sources by their number, since who reads them first depends on
/// the passes, then the others in the order in which they come. What is said to have the bytes of another
/// must have those that were shown of it last.
class HashingObserver : public Observer {
 public:
  void graphReady(const Graph& graph) override { m_graph = &graph; }
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady& ready) override {
    const TensorId id = ready.tensor;
    const bool fresh = m_shown.insert(id.value).second;
    const std::string hash = hashTensor(ready.value).text();
    if (ready.sameAs.valid()) {
      ++saidSame;
      if (hash != m_last.at(ready.sameAs.value)) FAIL_CHECK(m_graph->tensor(id).fullName());
    }
    m_last[id.value] = hash;
    const std::string line = std::to_string(id.value) + " " + hash +
                             (ready.previous ? " " + hashTensor(*ready.previous).text() : "") +
                             (fresh ? "\n" : " twice\n");
    if (m_graph->tensor(id).isSource())
      m_sources[id.value] = line;
    else
      m_text += line;
  }
  void iterationFinished(Iteration, const Scalars&) override {
    for (const auto& [id, line] : m_sources) m_text += line;
    seen.push_back(hashBytes(std::as_bytes(std::span(m_text))).text());
    m_text.clear();
    m_sources.clear();
    m_shown.clear();
  }
  std::vector<std::string> seen;  // by iteration
  int saidSame = 0;

 private:
  std::map<std::int64_t, std::string> m_last;  // by tensor, of whichever iteration
  const Graph* m_graph = nullptr;
  std::string m_text;
  std::map<std::int64_t, std::string> m_sources;
  std::set<std::int64_t> m_shown;
};

struct PassesRun : msdbg::test::PlainRun {
  explicit PassesRun(const std::string& text) {
    threadCount = kThreads;
    if (text.starts_with("recompute "))
      chosen.recompute = {text.substr(10)};
    else
      chosen.passes = PassSelection::parse(text).orThrow();
  }
  PlanChoices planChoices() const override { return chosen; }
  PlanChoices chosen;
};

struct Trained {
  std::string carried;  // hashes of all parameters, states and constants
  std::vector<double> losses;
  double accuracy = 0;
  bool operator==(const Trained&) const = default;
};

Trained train(const ModelInfo& model, int iterations, const std::string& passes, Observer* observer,
              const std::string& fault = "") {
  const ModelOptions options{.batch = 2, .dropout = model.hasDropout ? 0.2 : 0.0, .size = model.size};
  Graph graph("network");
  const Value loss = model.build(graph, options);
  PassesRun run(passes);
  run.watching = observer;
  if (!fault.empty()) run.planted = {parseFault(fault).orThrow()};
  LoaderOptions wanted;
  wanted.image = model.image, wanted.batch = options.batch;
  wanted.sequence = model.size.context, wanted.vocabulary = model.size.vocabulary;
  const auto loader = makeLoader(model.readsText() ? "words" : "digits", wanted).orThrow();
  Trainer trainer(run, graph, loss, model.optimizer);
  Trained trained;
  for (const Batch& batch : run.shard(*loader, iterations))
    trained.losses.push_back(trainer.step(batch).loss);
  for (const auto& [name, tensor] : trainer.state().tensors)
    trained.carried += name + " " + hashTensor(tensor).text() + "\n";
  if (!model.readsText()) trained.accuracy = trainer.evaluateAccuracy(*loader, 4);
  return trained;
}

/// Every pass off alone, on alone, all on; then with everything that can be computed again.
std::vector<std::string> selections() {
  std::vector<std::string> texts{"all"};
  for (const PlanPass& pass : planPasses()) {
    texts.push_back("-" + std::string(pass.name));
    texts.emplace_back(pass.name);
  }
  texts.emplace_back("recompute network");  // as one
  texts.emplace_back("recompute network/*");
  return texts;
}

void compare(const char* name, int iterations) {
  const ModelInfo& model = *findModel(name);
  HashingObserver plainObserver;
  const Trained plain = train(model, iterations, "none", nullptr);
  REQUIRE_FALSE(plain.carried.empty());
  CHECK((train(model, iterations, "none", &plainObserver) == plain));
  REQUIRE(plainObserver.seen.size() == static_cast<std::size_t>(iterations));
  for (const std::string& passes : selections()) {
    INFO(name << ": " << passes);
    HashingObserver observer;
    CHECK((train(model, iterations, passes, nullptr) == plain));
    CHECK((train(model, iterations, passes, &observer) == plain));
    CHECK((observer.seen == plainObserver.seen));
    CHECK(observer.saidSame > 0);
  }
}

}  // namespace

TEST_CASE("Passes and observers change no bit of mlp") { compare("mlp", kFewIterations); }
TEST_CASE("Passes and observers change no bit of lenet5") { compare("lenet5", kFewIterations); }
TEST_CASE("Passes and observers change no bit of any model in 20 iterations", "[slow]") {
  for (const ModelInfo& model : builtinModels()) DYNAMIC_SECTION(model.name) {
      compare(std::string(model.name).c_str(), kIterations);
    }
}

TEST_CASE("A planted fault is seen and does its harm whichever passes are on") {
  const ModelInfo& model = *findModel("lenet5");
  for (const char* fault : {"nan@iteration=3,node=*Flatten*", "bitflip@iteration=4,bit=22",
                            "zero_grad@iteration=2", "inf@iteration=4,node=grad/*Relu*,element=3"}) {
    HashingObserver plainObserver, observer;
    const Trained plain = train(model, kFaultyIterations, "none", &plainObserver, fault);
    INFO(fault);
    CHECK((train(model, kFaultyIterations, "all", nullptr, fault).carried == plain.carried));
    CHECK((train(model, kFaultyIterations, "all", &observer, fault).carried == plain.carried));
    CHECK(observer.saidSame > 0);
    CHECK((observer.seen == plainObserver.seen));
    CHECK((train(model, kFaultyIterations, "recompute network", nullptr, fault).carried == plain.carried));
  }
}
