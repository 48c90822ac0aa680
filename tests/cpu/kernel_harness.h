// Runs one operator through the fast CPU backend: a graph of one node, its inputs given as tensors. For tests
// only; a node that does not fit together fails the test.
#pragma once

#include <functional>
#include <vector>

#include "core_engine/runtime/backend.h"

namespace msdbg::test {

struct OneNode {
  std::string opType;
  std::vector<core::Tensor> inputs;
  core::Attributes attributes = {};
};

struct Ran {
  std::vector<core::Tensor> outputs;
  std::string kernel;    // name of the kernel
  std::string declined;  // or why there is none
  int blocked = 0;       // tensors that lay in channels of 16
};

core::RunState stateWith(int threads);
/// Compiles for the state's thread count and runs once. Outputs start out as bytes 0xFF: NaN where nothing is
/// written.
Ran runFast(const OneNode& node, const core::RunState& state);
Ran runFast(const OneNode& node, int threads = 2);
/// The same with every tensor that the backend takes so in channels of 16; inputs and outputs are row-major.
Ran runBlocked(const OneNode& node, int threads = 2);
/// The same as a group of one, which goes through its elements in small parts; declined where the kernel does
/// not work in parts.
Ran runInParts(const OneNode& node, int threads = 2);
/// The same through OpDef::reference.
Ran runReference(const OneNode& node, const core::RunState& state);
/// The single output of a kernel that must exist.
core::Tensor fast(const OneNode& node, int threads = 2);
core::Tensor fast(const OneNode& node, const core::RunState& state);

/// Numbers in [-1, 1) that depend on seed and index only.
core::Tensor numbers(core::Shape shape, std::uint64_t seed, double scale = 1);
core::Tensor floats(core::Shape shape, const std::vector<float>& values);
bool sameBits(const core::Tensor& a, const core::Tensor& b);

/// The largest |actual - expected(i)| / scale over all elements; infinite when a NaN is not matched by a NaN
/// or an infinity by itself.
double largestError(const core::Tensor& actual, const std::function<double(std::int64_t)>& expected,
                    double scale = 1);
/// Distance in representable float32 numbers, with NaN equal to NaN.
double ulps(float actual, double expected);

}  // namespace msdbg::test
