// Why there is no pass that makes Relu an epilogue of the product before it: oneDNN's Relu turns NaN into 0,
// and would hide the very thing a user looks for. Were it otherwise one day, this test says
// so. (What else was measured: core_engine/PERFORMANCE.md, "Epilogues".)
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core_engine/cpu/dnnl_internal.h"
#include "tests/cpu/kernel_harness.h"

using namespace msdbg::core;
using namespace msdbg::test;
using dnnl::memory;

namespace {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::primitive_attr withRelu() {
  dnnl::post_ops operations;
  operations.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operations);
  return attributes;
}

Tensor gemm(const Tensor& a, const Tensor& b, const dnnl::primitive_attr& attributes) {
  Tensor y(DType::Float32, {a.shape()[0], b.shape()[1]});
  const auto memoryOf = [](const Tensor& t) {
    return memory(cpu::rowMajor(t.shape()), engine(), const_cast<void*>(t.raw()));
  };
  const dnnl::matmul::desc what(cpu::rowMajor(a.shape()), cpu::rowMajor(b.shape()), cpu::rowMajor(y.shape()));
  dnnl::stream stream(engine());
  dnnl::matmul({what, attributes, engine()})
      .execute(stream,
               {{DNNL_ARG_SRC, memoryOf(a)}, {DNNL_ARG_WEIGHTS, memoryOf(b)}, {DNNL_ARG_DST, memoryOf(y)}});
  stream.wait();
  return y;
}

/// Relu behind the product: by our kernel, and as oneDNN's epilogue.
std::pair<Tensor, Tensor> bothWays(const Tensor& a, const Tensor& b) {
  return {fast({"Relu", {gemm(a, b, {})}}), gemm(a, b, withRelu())};
}

}  // namespace

TEST_CASE("oneDNN's Relu behind a product hides NaN, so it is no epilogue") {
  if (!cpu::hasAvx512Convolutions()) {
    WARN("skipped: other kernels of oneDNN run on this CPU");
    return;
  }
  Tensor a = numbers({256, 784}, 1);
  const Tensor b = numbers({784, 512}, 2);
  const auto [apart, fused] = bothWays(a, b);
  CHECK(sameBits(apart, fused));  // of finite numbers the epilogue would do
  a.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const auto [shown, hidden] = bothWays(a, b);
  CHECK(std::isnan(shown.at(0)));
  CHECK(hidden.at(0) == 0);
}
