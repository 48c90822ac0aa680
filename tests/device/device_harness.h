// Runs one sample (tests/ops/samples.h) on a backend, of the host or of a device; and trains a built-in model
// on one. For tests only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core_engine/device/device.h"
#include "core_engine/runtime/backend.h"
#include "core_engine/runtime/fault.h"
#include "tests/ops/samples.h"

namespace msdbg::test {

struct RanSample {
  std::vector<core::Tensor> outputs;  // on the host
  std::string kernel;                 // its name; "" where it was declined
  std::string declined;
  core::Status status = core::Ok{};
};
/// Outputs start out as bytes 0xFF. What only the device's queue says is in the status.
RanSample runSample(core::Backend& backend, const SampleGraph& sample, const core::RunState& state);

/// Equal bits, but any NaN is like any other: their payload is the processor's.
bool sameNumbers(const core::Tensor& a, const core::Tensor& b);
/// Where they first differ, with both values.
std::string firstDifference(const core::Tensor& a, const core::Tensor& b);

/// Larger than those of samples.h: rows that do not fill the lanes, sums of more than a piece, windows that
/// overlap.
std::vector<Sample> largeSamples();

/// Each line what was seen of a tensor in an iteration: its name and hash; in the order of the graph.
using SeenTensors = std::vector<std::string>;
struct TrainedModel {
  SeenTensors seen;
  std::vector<double> losses;
  std::map<std::string, int> kernels;  // by the first part of the name: "cpu", "emulated", "dnnl", …
  std::vector<std::string> everyTime;  // names of those that run in every iteration
};
struct Training {
  std::string model;
  core::BackendKind backend = core::BackendKind::kFast;
  int iterations = 3;
  bool observed = true;
  std::string fault = "";
  std::string passes = "all";
  std::int64_t batch = 2;
};
TrainedModel train(const Training& training);

/// kCuda where there is a device; ends the program with CTest's code for a skipped test where there is none.
std::unique_ptr<core::Backend> cudaBackendOrSkip();

}  // namespace msdbg::test
