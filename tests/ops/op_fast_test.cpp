// Fast kernels of the CPU backend against the reference kernels on the harness's samples (float32).
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "core_engine/runtime/backend.h"
#include "tests/ops/samples.h"

using namespace msdbg::core;
using namespace msdbg::test;

namespace {

/// nullopt when the backend declines; `declined` says why.
std::optional<std::vector<Tensor>> runFast(const SampleGraph& s, int threads,
                                           std::string* declined = nullptr) {
  const Node& node = s.graph->node(s.node);
  const auto backend = makeCpuBackend();
  Backend::Answer answer = backend->compile(*s.graph, node, threads);
  if (!answer.kernel) {
    if (declined) *declined = answer.declined;
    return std::nullopt;
  }
  std::vector<Tensor> outputs = makeOutputs(s);
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  for (const Tensor& t : s.values) in.push_back(&t);
  for (Tensor& t : outputs) out.push_back(&t);
  const RunState state{.threads = threads};
  const Status status = answer.kernel->run({node, in, out, state});
  if (!status.ok()) FAIL(status.error().message());
  return outputs;
}

double largest(const Tensor& t) {
  double most = 0;
  for (double v : valuesOf(t)) most = std::max(most, std::abs(v));
  return most;
}

/// Sums in float32 in another order: 4e-6 of the value and of the largest value in the tensor (32 ulp).
void checkClose(const Tensor& fast, const Tensor& reference) {
  const double scale = largest(reference);
  for (std::int64_t i = 0; i < fast.elements(); ++i) {
    const double a = fast.at(i), b = reference.at(i);
    REQUIRE(std::abs(a - b) <= 4e-6 * std::abs(b) + 4e-6 * scale);
  }
}

int kindOf(double v) { return std::isnan(v) ? 1 : std::isinf(v) ? (v > 0 ? 2 : 3) : 0; }

bool hasPadding(const Sample& s) {
  const auto found = s.attributes.find("pads");
  if (s.attributes.contains("auto_pad")) return true;
  return found != s.attributes.end() && std::get<Ints>(found->second) != Ints{0, 0, 0, 0};
}

/// How many elements are a number in one and not in the other, or another kind of not-a-number. oneDNN leaves
/// out the products with padding, the reference computes 0 * NaN there: with padding it may have more NaN.
std::int64_t differingKinds(const Sample& s, const Tensor& fast, const Tensor& reference) {
  const bool skipsPadding = s.op.starts_with("Conv") && hasPadding(s);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < fast.elements(); ++i) {
    const int a = kindOf(fast.at(i)), b = kindOf(reference.at(i));
    count += a != b && !(skipsPadding && b == 1);
  }
  return count;
}

std::int64_t finite(const Tensor& t) {
  std::int64_t count = 0;
  for (double v : valuesOf(t)) count += kindOf(v) == 0;
  return count;
}

const std::set<std::string> kElementwise = {"Add",      "Sub",         "Mul",         "Div",  "Relu",
                                            "ReluGrad", "Sigmoid",     "SigmoidGrad", "Tanh", "TanhGrad",
                                            "Dropout",  "DropoutGrad", "Identity",    "Cast", "SgdUpdate"};

}  // namespace

TEST_CASE("Fast kernels agree with the reference within 32 ulp of the largest value") {
  std::set<std::string> fast, declined;
  for (const Sample& s : samples()) {
    INFO(s.op << ": " << s.what);
    const SampleGraph g = buildSample(s, DType::Float32);
    std::string reason;
    const auto outputs = runFast(g, 2, &reason);
    if (!outputs) {
      CHECK(!reason.empty());
      declined.insert(s.op + " (" + s.what + "): " + reason);
      continue;
    }
    fast.insert(s.op);
    const auto reference = runReference(g, {.threads = 2});
    for (std::size_t i = 0; i < reference.size(); ++i) checkClose((*outputs)[i], reference[i]);
  }
  for (const std::string& line : declined) WARN("no fast kernel: " << line);
  for (const char* op :
       {"Conv", "ConvGradInput", "ConvGradWeight", "Gemm", "MatMul", "Add", "Relu", "MaxPool"}) {
    INFO(op);
    CHECK(fast.contains(op));
  }
}

TEST_CASE("Fast kernels give the same bits twice; element-wise ones also on one and two threads") {
  for (const Sample& s : samples()) {
    INFO(s.op << ": " << s.what);
    const SampleGraph g = buildSample(s, DType::Float32);
    const auto first = runFast(g, 2), second = runFast(g, 2);
    if (!first) continue;
    for (std::size_t i = 0; i < first->size(); ++i) CHECK(sameBytes((*first)[i], (*second)[i]));
    if (!kElementwise.contains(s.op)) continue;
    const auto alone = runFast(g, 1);
    for (std::size_t i = 0; i < first->size(); ++i) CHECK(sameBytes((*first)[i], (*alone)[i]));
  }
}

TEST_CASE("A NaN or infinity spreads through fast kernels to the same elements as through the reference") {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const Sample& s : samples()) {
    for (std::size_t input = 0; input < s.inputs.size(); ++input) {
      for (double value : bad) {
        SampleGraph g = buildSample(s, DType::Float32);
        if (g.values[input].dtype() != DType::Float32) continue;
        INFO(s.op << ": " << s.what << ", " << value << " in input " << input);
        const auto numbers = g.values[input].data<float>();
        numbers[numbers.size() / 2] = static_cast<float>(value);
        const auto fast = runFast(g, 2);
        if (!fast) continue;
        const auto reference = runReference(g);
        for (std::size_t i = 0; i < reference.size(); ++i) {
          CHECK(differingKinds(s, (*fast)[i], reference[i]) == 0);
          if (finite(reference[i]) < reference[i].elements())
            CHECK(finite((*fast)[i]) < reference[i].elements());
        }
      }
    }
  }
}
