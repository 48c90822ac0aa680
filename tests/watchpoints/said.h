// What a condition of the recommended set says of a small program, traced for one iteration.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "core_engine/train/layers.h"
#include "core_engine/train/losses.h"
#include "tests/watchpoints/healthy_source.h"
#include "tests/watchpoints/traced_program.h"

namespace msdbg::test {

using namespace msdbg::core;
using namespace msdbg::watch;

/// What the condition's watchpoint of the recommended set says, faults and hints; "" where it is silent.
inline std::string said(const char* condition, FakeSource& source) {
  const CheckReport report = runRecommended(source, condition);
  std::string all;
  for (const auto* hits : {&report.hits, &report.hints})
    for (const Hit& hit : *hits) all += hit.detail + "\n";
  return all;
}

inline std::string said(const char* condition, const Program& program, const Named& inputs,
                        const Optimizer& optimizer = Sgd{.lr = 0.01}) {
  const Trace trace = traceTraining(program, inputs, optimizer);
  return said(condition, *trace.source);
}

inline Tensor counted(const Shape& shape, std::int64_t below) {
  Tensor tensor(DType::Int64, shape);
  std::int64_t next = 0;
  for (std::int64_t& each : tensor.data<std::int64_t>()) each = next++ % below;
  return tensor;
}

inline Tensor waves(const Shape& shape, double size = 1) {
  Tensor tensor(DType::Float32, shape);
  double next = 0;
  for (float& each : tensor.data<float>()) each = static_cast<float>(size * std::sin(next += 1.7));
  return tensor;
}

inline Value meanOf(Value x) { return reduceMean(x, {}, false); }

/// x [4, 6] of floating point, label [4].
inline Named rows() { return {{"network/x", waves({4, 6})}, {"network/label", counted({4}, 3)}}; }

inline std::string saidOfRows(const char* condition,
                              const std::function<Value(Value x, Value label)>& program, double size = 1) {
  return said(condition,
              [&](Graph& g) {
                const Value x = g.input("x", {4, 6}), label = g.input("label", {4}, DType::Int64);
                return program(x, label);
              },
              {{"network/x", waves({4, 6}, size)}, {"network/label", counted({4}, 3)}});
}

}  // namespace msdbg::test
