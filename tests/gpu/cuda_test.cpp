// On an NVIDIA GPU, where there is one (else CTest counts it as skipped): the kernels of ours compute the
// bits of the emulated device, products and convolutions what the reference does but for rounding; training
// is deterministic.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "core_engine/models/model.h"
#include "tests/device/device_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

bool isLibrarys(const std::string& op) { return op.starts_with("Conv") || op == "Gemm" || op == "MatMul"; }

double largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (std::isfinite(tensor.at(i))) most = std::max(most, std::abs(tensor.at(i)));
  return most;
}

void compareWithReference(const SampleGraph& sample, const RanSample& ran, const RunState& state) {
  const RanSample reference = runSample(*makeReferenceBackend(), sample, state);
  for (std::size_t i = 0; i < ran.outputs.size(); ++i) {
    const double scale = largest(reference.outputs[i]);
    for (std::int64_t at = 0; at < ran.outputs[i].elements(); ++at) {
      const double a = ran.outputs[i].at(at), b = reference.outputs[i].at(at);
      REQUIRE(std::abs(a - b) <= 1e-5 * std::abs(b) + 1e-5 * scale);
    }
  }
}

}  // namespace

TEST_CASE("Kernels on a GPU compute the emulated device's bits") {
  const auto cuda = cudaBackendOrSkip();
  const auto emulated = makeDeviceBackend(BackendKind::kEmulated, Rank(0)).orThrow();
  std::vector<Sample> all = samples();
  const std::vector<Sample> large = largeSamples();
  all.insert(all.end(), large.begin(), large.end());
  int own = 0, librarys = 0;
  for (const Sample& s : all)
    for (const bool training : {true, false}) {
      INFO(s.op << ": " << s.what);
      const RunState state{.threads = 2, .seed = 7, .training = training};
      const SampleGraph sample = buildSample(s, DType::Float32);
      const RanSample ran = runSample(*cuda, sample, state);
      if (ran.kernel.empty()) continue;
      INFO(ran.kernel);
      if (!ran.status.ok()) FAIL(ran.status.error().message());
      if (isLibrarys(s.op)) {
        ++librarys;
        compareWithReference(sample, ran, state);
        continue;
      }
      ++own;
      const RanSample wanted = runSample(*emulated, sample, state);
      for (std::size_t i = 0; i < ran.outputs.size(); ++i) {
        INFO("output " << i << ", " << firstDifference(ran.outputs[i], wanted.outputs[i]));
        CHECK(sameNumbers(ran.outputs[i], wanted.outputs[i]));
      }
    }
  std::cout << own << " samples of kernels of ours, " << librarys << " of libraries\n";
  CHECK(own > 100);
  CHECK(librarys > 10);
}

TEST_CASE("Training on a GPU gives the same bits twice, observed or not") {
  (void)cudaBackendOrSkip();
  for (const ModelInfo& model : builtinModels()) {
    INFO(model.name);
    const Training training{
        .model = std::string(model.name), .backend = BackendKind::kCuda, .iterations = 10, .batch = 16};
    const TrainedModel first = train(training), second = train(training);
    CHECK((first.seen == second.seen));
    CHECK((first.losses == second.losses));
    Training alone = training;
    alone.observed = false;
    CHECK((train(alone).losses == first.losses));
    for (const std::string& name : first.everyTime) {
      CAPTURE(name);
      CHECK((name.starts_with("cuda:") || name.starts_with("group:") || name.starts_with("view:")));
    }
  }
}
