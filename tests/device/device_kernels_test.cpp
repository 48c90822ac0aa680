// The kernels of a device, on the emulated one, against the CPU's: equal bits, whatever order the threads run
// in.
#include <catch2/catch.hpp>
#include <set>

#include "core_engine/device/device_backend.h"
#include "core_engine/device/emulated/emulated_device.h"
#include "core_engine/device/kernel_factory.h"
#include "tests/device/device_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;
using device::emulated::ThreadOrder;

namespace {

std::unique_ptr<Backend> emulated(ThreadOrder order) {
  return device::makeDeviceBackend("emulated", device::emulated::makeEmulatedDevice(order));
}

/// The fast kernel where there is one, else the reference.
RanSample onCpu(const SampleGraph& sample, const RunState& state) {
  RanSample ran = runSample(*makeCpuBackend(), sample, state);
  return ran.kernel.empty() ? runSample(*makeReferenceBackend(), sample, state) : std::move(ran);
}

/// The operators that had a kernel.
std::set<std::string> compareAll(const std::vector<Sample>& all, ThreadOrder order, const RunState& state) {
  std::set<std::string> compared;
  for (const Sample& s : all) {
    INFO(s.op << ": " << s.what);
    const SampleGraph sample = buildSample(s, DType::Float32);
    const auto backend = emulated(order);
    const RanSample here = runSample(*backend, sample, state);
    if (here.kernel.empty()) continue;
    INFO(here.kernel);
    if (!here.status.ok()) FAIL_CHECK(here.status.error().message());
    const RanSample there = onCpu(sample, state);
    REQUIRE(here.outputs.size() == there.outputs.size());
    for (std::size_t i = 0; i < here.outputs.size(); ++i) {
      INFO("output " << i << ", " << firstDifference(here.outputs[i], there.outputs[i]));
      CHECK(sameNumbers(here.outputs[i], there.outputs[i]));
    }
    compared.insert(s.op);
  }
  return compared;
}

}  // namespace

TEST_CASE("Kernels of a device compute the CPU's bits in every order of threads") {
  for (const ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward, ThreadOrder::kShuffled}) {
    std::set<std::string> compared = compareAll(samples(), order, {.threads = 2});
    compared.merge(compareAll(largeSamples(), order, {.threads = 2}));
    for (const device::DeviceKernelRow& row : device::builtinDeviceKernels()) {
      const bool leftToTheCpu =
          row.opType.starts_with("Conv") || row.opType == "Gemm" || row.opType == "MatMul";
      INFO(row.opType);
      CHECK((leftToTheCpu || compared.contains(std::string(row.opType))));
    }
  }
}

TEST_CASE("Kernels of a device compute the CPU's bits outside training too") {
  const RunState state{.rank = Rank(1), .threads = 2, .seed = 7, .training = false};
  CHECK(compareAll(samples(), ThreadOrder::kForward, state).size() > 30);
}

TEST_CASE("A label or an index that is none is named when the device is done") {
  const auto backend = emulated(ThreadOrder::kForward);
  const auto wrong = [&](const Sample& s, std::size_t input, std::int64_t value) {
    SampleGraph sample = buildSample(s, DType::Float32);
    sample.values[input].data<std::int64_t>()[1] = value;
    const Status status = runSample(*backend, sample, {}).status;
    return status.ok() ? "" : status.error().message();
  };
  const Sample loss{"SoftmaxCrossEntropyLoss", "", {{{4, 3}}, {{4}, Fill::kLabels}}};
  CHECK(wrong(loss, 1, 3).find("the label of row 1 is 3, but there are 3 classes") != std::string::npos);
  CHECK(wrong(loss, 1, -1).find("the label of row 1 is -1") != std::string::npos);
  CHECK(wrong(loss, 1, 2).empty());
  const Sample gather{"Gather", "", {{{6, 4}}, {{5}, Fill::kIndices}}};
  CHECK(wrong(gather, 1, 6).find("6") != std::string::npos);
  CHECK(wrong(gather, 1, -6).empty());
}
