// Mistakes in the losses of PyTorch programs that train on in silence, and the healthy programs that look
// like them.
#include <catch2/catch.hpp>

#include "tests/watchpoints/torch_program.h"

namespace msdbg::test {

using namespace core;
using namespace torch_program;
using watch::Severity;

namespace {

TensorId forward(Program& p, const char* type, std::vector<TensorId> inputs, Shape shape,
                 Attributes attributes = {}, TensorRole role = TensorRole::kActivation) {
  return p.node(type, "main", Phase::kForward, std::move(inputs), floats(role, "", std::move(shape)), {},
                "aten", std::move(attributes));
}

std::string saidOf(Program& p, const char* condition, Severity severity) {
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.x, numbers({8, 16}, 1, -2));  // as logarithms are
  return said(source, condition, severity);
}

TensorId unit(Program& p, TensorId z, std::int64_t axis) {
  const Shape norms = axis == 0 ? Shape{1, 16} : Shape{8, 1};
  const TensorId norm = forward(p, "linalg_vector_norm", {z}, norms,
                                {{"ord", 2.0}, {"dim", std::vector<std::int64_t>{axis}}, {"keepdim", true}});
  return forward(p, "div", {z, forward(p, "clamp_min", {norm}, norms, {{"min", 1e-12}})}, {8, 16});
}

// Rows of one network compared by their products with one another, or columns.
std::string ofContrast(std::int64_t axis, bool columns) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
  const TensorId z = unit(p, p.layer("Net", p.x, w), axis);
  const Shape all = columns ? Shape{16, 16} : Shape{8, 8};
  forward(p, "mm", {z, z}, all);
  return saidOf(p, "softmax_axis", Severity::kFault);
}

// A mean of what is predicted of 8 samples and, times `factor`, what a sum over other 16 numbers of each
// gives.
std::string ofTwoTerms(const char* second, double factor, Attributes axes = {}) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
  const TensorId y = p.layer("Net", p.x, w);
  const TensorId error =
      forward(p, "binary_cross_entropy_with_logits", {y, p.x}, {}, {{"reduction", std::int64_t{1}}});
  const bool rows = !axes.empty();
  TensorId term = forward(p, second, {forward(p, "exp", {y}, {8, 16})}, rows ? Shape{8} : Shape{}, axes);
  if (rows) term = forward(p, "mean", {term}, {});
  const TensorId scaled = forward(p, "mul", {term}, {}, {{"other", factor}});
  forward(p, "add", {error, scaled}, {}, {}, TensorRole::kLoss);
  return saidOf(p, "loss_input", Severity::kHint);
}

std::string ofLabels(std::vector<std::string> facts) {
  Program p;
  for (const std::string& fact : facts)
    forward(p, "nll_loss_forward", {p.x, p.x}, {}, {{fact, std::string("Net/embedding-op1")}},
            TensorRole::kLoss);
  return saidOf(p, "loss_input", Severity::kFault);
}

std::string ofGraph(bool backward, Severity severity) {
  Program p;
  p.node("growing_graph", "main", Phase::kForward, {p.x}, floats(TensorRole::kActivation, "mark", {}), {},
         "torch", {{"iterations", std::int64_t{11}}, {"backward", backward}});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), p.graph.nodes().back().outputs[0], numbers({}, 1));
  return said(source, "growing_graph", severity);
}

}  // namespace

TEST_CASE("softmax_axis names a norm along another axis than the product of what it normalised") {
  CHECK(contains(ofContrast(0, false), "the norm runs along axis 0 of [8, 16], but main/mm-op1 multiplies"));
  CHECK(ofContrast(1, false).empty());
  CHECK(ofContrast(0, true).empty());  // columns are compared over the batch, as Barlow Twins do
  CHECK(contains(ofContrast(1, true), "the norm runs along axis 1 of [8, 16]"));
}

TEST_CASE("loss_input hints at a sum over samples beside a mean over samples") {
  CHECK(contains(ofTwoTerms("sum", -0.5), "it is a sum over 8 samples, and is added to"));
  CHECK(ofTwoTerms("mean", -0.5).empty());
  CHECK(ofTwoTerms("sum", 1e-3).empty());  // a factor that was chosen for it
  CHECK(ofTwoTerms("sum", -0.5, {{"dim", std::vector<std::int64_t>{1}}}).empty());  // of each sample
}

TEST_CASE("loss_input takes the recorder's word for labels that were shifted twice") {
  CHECK(contains(ofLabels({"after_next_of"}), "the labels were shifted twice"));
  CHECK_FALSE(contains(ofLabels({"next_of"}), "shifted twice"));
  CHECK_FALSE(
      contains(ofLabels({"next_of", "after_next_of"}), "shifted twice"));  // it looks two places ahead
}

TEST_CASE("loss_input hints at padding that a loss counts") {
  const auto ofShare = [](Attributes facts) {
    Program p;
    forward(p, "nll_loss_forward", {p.x, p.x}, {}, std::move(facts), TensorRole::kLoss);
    return saidOf(p, "loss_input", Severity::kHint);
  };
  CHECK(contains(ofShare({{"padding", std::int64_t{3}}, {"counts_padding", 0.5}}),
                 "50 % of the labels that it counts are 3"));
  CHECK(ofShare({{"padding", std::int64_t{3}}}).empty());
}

TEST_CASE("growing_graph is a fault where backward passes go through what grows, else a hint") {
  CHECK(contains(ofGraph(true, Severity::kFault), "the graph of the loss reaches back 11 iterations"));
  CHECK(ofGraph(false, Severity::kFault).empty());
  CHECK(contains(ofGraph(false, Severity::kHint), "carries the graphs of the 11 iterations before"));
}

}  // namespace msdbg::test
