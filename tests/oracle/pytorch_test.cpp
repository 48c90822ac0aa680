// The five models against PyTorch's (shared/peers/torch_models.py): loss and every gradient from the same
// weights and batches, which go there as .npy files. float32 differs from PyTorch's float32 by no more than
// rounding does; float64 takes a second step, so that the optimizers are compared as well.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core_engine/models/model.h"
#include "core_engine/runtime/executor.h"
#include "core_engine/train/trainer.h"
#include "replay/npy.h"
#include "tests/oracle/peer.h"
#include "tests/support/temp_dir.h"
#include "tests/train/plain_run.h"

using namespace msdbg;
using namespace msdbg::core;
using namespace msdbg::test;
namespace fs = std::filesystem;

namespace {

constexpr double kFloat32 = 1e-5, kFloat64 = 1e-10;
/// Times PyTorch's own distance between float32 and float64, where that is larger: the tensor's; or the
/// largest of the model where float32 has rounded an input of a Relu to the other side of zero. Such an
/// element's gradient comes or goes as a whole and reaches all layers before it. It happens to PyTorch too,
/// elsewhere.
constexpr double kOwn = 4;
constexpr int kSteps = 2;

void write(const fs::path& folder, const std::string& stem, const Tensor& tensor) {
  REQUIRE(replay::writeNpy(folder / (stem + ".npy"), tensor).ok());
}

std::vector<TensorId> parametersOf(const Graph& graph) {
  std::vector<TensorId> ids;
  for (const TensorInfo& info : graph.tensors())
    if (info.trainable) ids.push_back(info.id);
  return ids;
}

using Signs = std::vector<std::vector<bool>>;  // of each Relu's outputs in step 0: which are above zero

/// Writes loss and gradients of every step, while they are there.
class Writer : public Observer {
 public:
  Writer(fs::path folder, std::string kind) : m_folder(std::move(folder)), m_kind("_" + std::move(kind)) {}
  void graphReady(const Graph& graph) override {
    for (const TensorId parameter : parametersOf(graph))
      m_gradients.push_back(*graph.findTensor("grad(" + graph.tensor(parameter).name + ")"));
    for (const TensorInfo& info : graph.tensors()) {
      if (info.role == TensorRole::kLoss) m_loss = info.id;
      m_isRelu.push_back(!info.isSource() && graph.node(info.producer).opType == "Relu");
    }
  }
  void iterationStarted(Iteration) override {}
  void tensorReady(const TensorReady& ready) override {
    const std::string suffix = m_kind + "_" + std::to_string(ready.iteration.value);
    if (ready.iteration.value == 0 && m_isRelu[ready.tensor.index()]) addSigns(ready.value);
    if (ready.tensor == m_loss) write(m_folder, "loss" + suffix, ready.value);
    for (std::size_t i = 0; i < m_gradients.size(); ++i)
      if (m_gradients[i] == ready.tensor) write(m_folder, numbered("gradient" + suffix, i), ready.value);
  }
  void iterationFinished(Iteration, const Scalars&) override {}
  const Signs& signs() const { return m_signs; }

 private:
  void addSigns(const Tensor& value) {
    std::vector<bool>& signs = m_signs.emplace_back();
    visitFloating(value.dtype(), [&](auto zero) {
      for (const auto x : value.data<decltype(zero)>()) signs.push_back(x > 0);
    });
  }

  fs::path m_folder;
  std::string m_kind;
  std::vector<TensorId> m_gradients;
  TensorId m_loss;
  std::vector<bool> m_isRelu;  // by TensorId
  Signs m_signs;
};

std::size_t flippedSigns(const Signs& a, const Signs& b) {
  REQUIRE(a.size() == b.size());
  std::size_t flipped = 0;
  for (std::size_t relu = 0; relu < a.size(); ++relu)
    for (std::size_t i = 0; i < a[relu].size(); ++i) flipped += a[relu][i] != b[relu][i];
  return flipped;
}

struct Case {
  const char* model;
  std::int64_t batch;  // smaller than the model's where float64, which has reference kernels only, takes long
};

std::unique_ptr<DataLoader> loaderOf(const ModelInfo& model, std::int64_t batch) {
  LoaderOptions options;
  options.image = model.image;
  options.sequence = model.size.context;
  options.batch = batch;
  options.seed = 5;
  return makeLoader(model.readsText() ? "words" : "digits", options).orThrow();
}

/// Trains from the weights of `start`, or from drawn ones which it then holds.
Signs train(const Case& c, DType dtype, const fs::path& folder, std::vector<Tensor>& start) {
  const ModelInfo& model = *findModel(c.model);
  Graph graph("network", dtype);
  const Value loss = model.build(graph, {.batch = c.batch, .dtype = dtype});
  Writer writer(folder, std::string(dtypeName(dtype)));
  PlainRun run;
  run.threadCount = 2;
  run.watching = &writer;
  Trainer trainer(run, graph, loss, model.optimizer);
  const std::vector<TensorId> parameters = parametersOf(graph);
  if (start.empty())
    for (const TensorId id : parameters) start.push_back(trainer.executor().value(id).clone());
  else
    for (std::size_t i = 0; i < parameters.size(); ++i)
      REQUIRE(trainer.executor().setValue(parameters[i], start[i].cast(dtype)).ok());
  const auto loader = loaderOf(model, c.batch);
  for (int step = 0; step < kSteps; ++step) trainer.step(loader->batch(Iteration{step}, Rank{0}, 1));
  return writer.signs();
}

std::vector<std::string> namesOf(const Case& c) {
  Graph graph("network");
  findModel(c.model)->build(graph, {.batch = c.batch});
  std::vector<std::string> names = {"loss"};
  for (const TensorId id : parametersOf(graph)) names.push_back("grad(" + graph.tensor(id).name + ")");
  return names;
}

/// What pytorch_steps.py prints, and "flipped": how many Relus see another sign in float32 than in float64.
nlohmann::json compare(const Case& c, const std::string& python, const fs::path& folder) {
  std::vector<Tensor> start;
  const Signs single = train(c, DType::Float32, folder, start);
  const Signs twice = train(c, DType::Float64, folder, start);
  for (std::size_t i = 0; i < start.size(); ++i) write(folder, numbered("parameter", i), start[i]);
  const auto loader = loaderOf(*findModel(c.model), c.batch);
  for (int step = 0; step < kSteps; ++step)
    for (const auto& [name, tensor] : loader->batch(Iteration{step}, Rank{0}, 1).tensors)
      write(folder, name + "_" + std::to_string(step), tensor);
  const RunResult ran = runCommand({python, (sourceDir() / "tests/oracle/pytorch_steps.py").string(),
                                    peers().string(), c.model, folder.string()},
                                   {.timeout = std::chrono::minutes(5)});
  INFO(ran.err);
  REQUIRE(ran.exitStatus == 0);
  nlohmann::json result = nlohmann::json::parse(ran.out);
  result["flipped"] = flippedSigns(single, twice);
  return result;
}

/// The largest of the distances and whose it is.
std::string worst(const std::vector<double>& distances, const std::vector<std::string>& names) {
  const auto at = std::max_element(distances.begin(), distances.end());
  char text[160];
  std::snprintf(text, sizeof text, "%.1e %-40s", *at,
                names[static_cast<std::size_t>(at - distances.begin())].c_str());
  return text;
}

void checkModel(const Case& c) {
  const std::string python = pythonWithTorch();
  if (python.empty()) return;
  const TempDir folder;
  const nlohmann::json result = compare(c, python, folder.path());
  const std::vector<std::string> names = namesOf(c);
  const std::vector<double> single = result["float32"], own = result["own_float32"];
  REQUIRE(single.size() == names.size());
  const std::size_t flipped = result["flipped"];
  const double worstOwn = *std::ranges::max_element(own);
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(c.model << " " << names[i] << ": PyTorch's float32 is " << own[i] << " from its float64, at most "
                 << worstOwn << "; " << flipped << " Relus flipped");
    CHECK(single[i] <= std::max(kFloat32, kOwn * (flipped > 0 ? worstOwn : own[i])));
  }
  std::vector<double> twice(names.size());
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<double> distances = result["float64"][static_cast<std::size_t>(step)];
    REQUIRE(distances.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      INFO(c.model << " " << names[i] << ", step " << step);
      CHECK(distances[i] <= kFloat64);
      twice[i] = std::max(twice[i], distances[i]);
    }
  }
  std::printf("%-9s batch %3lld, %2zu tensors; float32 %s (own %.1e, %zu flipped); float64 %s; PyTorch %s\n",
              c.model, static_cast<long long>(c.batch), names.size(), worst(single, names).c_str(), worstOwn,
              flipped, worst(twice, names).c_str(), result["torch"].get<std::string>().c_str());
}

}  // namespace

TEST_CASE("mlp has PyTorch's loss and gradients", "[slow]") { checkModel({"mlp", 256}); }
TEST_CASE("lenet5 has PyTorch's loss and gradients", "[slow]") { checkModel({"lenet5", 64}); }
TEST_CASE("alexnet has PyTorch's loss and gradients", "[slow]") { checkModel({"alexnet", 64}); }
TEST_CASE("resnet20 has PyTorch's loss and gradients", "[slow]") { checkModel({"resnet20", 64}); }
TEST_CASE("gpt has PyTorch's loss and gradients", "[slow]") { checkModel({"gpt", 4}); }
