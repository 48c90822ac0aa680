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
std::string ofContrast(std::int64_t axis, bool columns, bool joined = false) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
  TensorId z = unit(p, p.layer("Net", p.x, w), axis);
  if (joined) z = forward(p, "cat", {z, unit(p, p.layer("Net", p.x, w), axis), z}, {24, 16});
  const Shape all = joined ? Shape{24, 24} : columns ? Shape{16, 16} : Shape{8, 8};
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

TensorId learnt(Program& p, Shape shape = {8, 16}) {
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
  return p.node("mm", "Net", Phase::kForward, {p.x, w},
                floats(TensorRole::kActivation, "", std::move(shape)));
}

// reward + 0.9 * q.max(1)[slot], against what is predicted.
std::string ofMaximum(std::size_t slot, bool rewards) {
  Program p;
  TensorInfo values = floats(TensorRole::kActivation, "", {8}), places = values;
  places.dtype = DType::Int64;
  const TensorId q = learnt(p);
  const NodeId max = p.graph.addNode("max", "main", Phase::kForward, {q}, {{"dim", std::int64_t{1}}},
                                     {values, places}, {}, {}, "aten");
  TensorId target = forward(p, "mul", {p.graph.node(max).outputs[slot]}, {8}, {{"other", 0.9}});
  if (rewards) target = forward(p, "add", {p.source(TensorRole::kConstant, "reward", {8}), target}, {8});
  const TensorId error = forward(p, "sub", {forward(p, "select", {q}, {8}), target}, {8});
  forward(p, "mean", {error}, {}, {}, TensorRole::kLoss);
  return saidOf(p, "loss_input", Severity::kFault);
}

std::string ofSquare(bool meanFirst) {
  Program p;
  const TensorId residual = forward(p, "sub", {learnt(p), p.x}, {8, 16});
  const auto square = [&](TensorId x, Shape shape, TensorRole role) {
    return forward(p, "pow", {x}, std::move(shape), {{"exponent", std::int64_t{2}}}, role);
  };
  if (meanFirst)
    square(forward(p, "mean", {residual}, {}), {}, TensorRole::kLoss);
  else
    forward(p, "mean", {square(residual, {8, 16}, TensorRole::kActivation)}, {}, {}, TensorRole::kLoss);
  return saidOf(p, "loss_input", Severity::kHint);
}

// A number for each sample and the sum of other numbers: of all samples, or of each.
std::string ofSums(bool ofAll) {
  Program p;
  const TensorId y = learnt(p);
  const std::vector<std::int64_t> rows{1};
  const TensorId each = forward(p, "sum", {y}, {8}, {{"dim", rows}});
  const TensorId determinant =
      ofAll ? forward(p, "sum", {forward(p, "exp", {y}, {8, 16})}, {})
            : forward(p, "sum", {forward(p, "exp", {y}, {8, 16})}, {8}, {{"dim", rows}});
  forward(p, "mean", {forward(p, "add", {each, determinant}, {8})}, {}, {}, TensorRole::kLoss);
  return saidOf(p, "loss_input", Severity::kFault);
}

// Weights of 8 edges, and what they weigh summed by node, or over all.
std::string ofEdges(const char* sum) {
  Program p;
  const TensorId scores = forward(p, "select", {learnt(p)}, {8});
  const TensorId weights = forward(p, "_softmax", {scores}, {8}, {{"dim", std::int64_t{0}}});
  forward(p, sum, {p.x, forward(p, "mul", {weights, p.x}, {8, 16})}, {8, 16});
  return saidOf(p, "softmax_axis", Severity::kFault);
}

// A sample of what a layer gives; another layer reads it. Both have gradients, the sample has one or not.
std::string ofSample(bool reparameterised) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 b = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16});
  const TensorId mean = p.layer("Net/a", p.x, a);
  const TensorId z = forward(p, reparameterised ? "add" : "normal", {mean, p.x}, {8, 16});
  const TensorId y = p.layer("Net/b", z, b);
  const TensorId loss = forward(p, "mean", {y}, {}, {}, TensorRole::kLoss);
  p.gradient("Net/a", mean, a, loss);
  p.gradient("Net/b", y, b, loss);
  return saidOf(p, "no_gradient", Severity::kHint);
}

// Two means of what a layer gives each; the second has a gradient or not.
std::string ofTerms(bool both, bool shown = false) {
  Program p;
  const TensorId a = p.source(TensorRole::kParameter, "Net/a/weight", {16, 16}),
                 b = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16});
  const TensorId x = p.layer("Net/a", p.x, a), y = p.layer("Net/b", p.x, b);
  const TensorId first = forward(p, "mean", {x}, {});
  TensorId second = forward(p, "mean", {y}, {});
  if (shown) second = forward(p, "sub", {second, first}, {});
  const TensorId loss = forward(p, "add", {first, second}, {}, {}, TensorRole::kLoss);
  const auto back = [&](TensorId of) {
    p.node("div", "grad/main", Phase::kBackward, {loss}, floats(TensorRole::kGradient, "", {8, 16}),
           p.graph.tensor(of).producer);
  };
  back(first);
  if (both) back(second);
  return saidOf(p, "loss_input", Severity::kFault);
}

// t = 0.9 * t + 0.1 * o, in three iterations; what became of it may be the next t.
std::string ofAverage(const char* sum, bool becomes) {
  Program p;
  const TensorId t = p.source(TensorRole::kParameter, "Target/weight", {4, 4}),
                 o = p.source(TensorRole::kParameter, "Net/weight", {4, 4});
  const TensorId made = forward(
      p, sum,
      {forward(p, "mul", {t}, {4, 4}, {{"other", 0.9}}), forward(p, "mul", {o}, {4, 4}, {{"other", 0.1}})},
      {4, 4});
  FakeSource source(p.graph, 1, 4);
  for (int k = 0; k < 4; ++k) {
    source.record(Rank(0), Iteration(k), t, numbers({4, 4}, becomes ? k : 1));
    source.record(Rank(0), Iteration(k), o, numbers({4, 4}, 10 + k));
    source.record(Rank(0), Iteration(k), made, numbers({4, 4}, becomes ? k + 1 : 20 + k));
  }
  return said(source, "result_unused", Severity::kFault);
}

}  // namespace

TEST_CASE("saturated_start names scores that are multiplied by the root of their width") {
  const auto ofScale = [](const char* type, double factor) {
    Program p;
    const TensorId q = learnt(p);
    const TensorId scores = forward(p, "bmm", {q, q}, {1, 8, 8});
    const TensorId scaled = forward(p, type, {scores}, {1, 8, 8}, {{"other", factor}});
    forward(p, "_softmax", {forward(p, "masked_fill", {scaled, p.x}, {1, 8, 8})}, {1, 8, 8},
            {{"dim", std::int64_t{-1}}});
    return saidOf(p, "saturated_start", Severity::kFault);
  };
  CHECK(contains(ofScale("mul", 4), "the scores are multiplied by 4, the root of 16"));
  CHECK(ofScale("div", 4).empty());
  CHECK(ofScale("mul", 0.25).empty());
  CHECK(ofScale("mul", 3).empty());  // of no width that is there: chosen
}

TEST_CASE("loss_input knows the divergence of a VAE by its sign") {
  const auto ofSign = [](double factor, bool subtracted) {
    Program p;
    const TensorId mu = learnt(p), w = p.source(TensorRole::kParameter, "Net/b/weight", {16, 16});
    const TensorId log = p.layer("Net/b", p.x, w);
    const Shape all{8, 16};
    const TensorId one = forward(p, "add", {log}, all, {{"other", std::int64_t{1}}});
    const TensorId less =
        forward(p, "sub", {one, forward(p, "pow", {mu}, all, {{"exponent", std::int64_t{2}}})}, all);
    const TensorId brackets = forward(p, "sub", {less, forward(p, "exp", {log}, all)}, all);
    const TensorId kl = forward(p, "mul", {forward(p, "mean", {brackets}, {})}, {}, {{"other", factor}});
    const TensorId error = forward(p, "mean", {mu}, {});
    forward(p, subtracted ? "sub" : "add", {error, kl}, {}, {}, TensorRole::kLoss);
    return saidOf(p, "loss_input", Severity::kFault);
  };
  CHECK(contains(ofSign(0.5, false), "is never above zero, and the loss adds it"));
  CHECK(contains(ofSign(-0.5, true), "it subtracts the divergence"));
  CHECK(ofSign(-0.5, false).empty());
  CHECK(ofSign(0.5, true).empty());
}

TEST_CASE("target_range knows the targets of PyTorch's binary cross-entropy") {
  const auto ofTarget = [](double size) {
    Program p;
    const TensorId target = p.source(TensorRole::kLabel, "batch/1", {8, 16});
    forward(p, "binary_cross_entropy_with_logits", {learnt(p), target}, {}, {}, TensorRole::kLoss);
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), target, numbers({8, 16}, size / 2, size / 2));
    return said(source, "target_range", Severity::kFault);
  };
  CHECK(contains(ofTarget(255), "a binary cross-entropy takes probabilities, 0 to 1"));
  CHECK(ofTarget(1).empty());
}

TEST_CASE("a loss below zero tells what it was given, where nothing else is recorded") {
  const auto ofLoss = [](const char* type, const char* condition, double value, bool divided) {
    Program p;
    const TensorId target = p.source(TensorRole::kLabel, "batch/1", {8});
    const TensorId lengths = p.source(TensorRole::kInput, "batch/2", {8});
    const TensorId each = forward(p, type, {learnt(p), target}, {8});
    const TensorId mean = divided ? forward(p, "div", {each, lengths}, {8}) : each;
    const TensorId loss = forward(p, "mean", {mean}, {}, {}, TensorRole::kLoss);
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), loss, numbers({}, 0, value));
    return said(source, condition, Severity::kFault);
  };
  CHECK(contains(ofLoss("binary_cross_entropy", "target_range", -3, false),
                 "the loss is -3, and a binary cross-entropy of targets from 0 to 1 is never below zero"));
  CHECK(ofLoss("binary_cross_entropy", "target_range", 3, false).empty());
  CHECK(contains(ofLoss("nll_loss_forward", "loss_input", -0.25, false),
                 "of logarithms of probabilities is never below zero"));
  CHECK(contains(ofLoss("_ctc_loss", "loss_input", -2, true),
                 "of logarithms of probabilities is never below zero"));
  CHECK(ofLoss("_ctc_loss", "loss_input", 2, true).empty());
  const auto ofScores = [](const char* type) {  // of level ops: they say it themselves
    Program p;
    const TensorId scores = learnt(p);
    forward(p, type, {scores, p.x}, {}, {}, TensorRole::kLoss);
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), scores, numbers({8, 16}, 0.25, 0.5));
    return said(source, "loss_input", Severity::kFault);
  };
  CHECK(contains(ofScores("nll_loss_forward"), "probabilities where nll_loss takes their logarithms"));
  CHECK(contains(ofScores("_ctc_loss"), "probabilities where ctc_loss takes their logarithms"));
  const auto ofTrain = [](const char* measure, const char* condition) {  // of level train: no operators
    Program p;
    const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16});
    const TensorId loss =
        p.node("forward", "Net", Phase::kForward, {p.x, w}, floats(TensorRole::kLoss, "", {}), {}, "torch",
               {{"measure", std::string(measure)}});
    FakeSource source(p.graph, 1, 1);
    source.record(Rank(0), Iteration(0), loss, numbers({}, 0, -2));
    return said(source, condition, Severity::kFault);
  };
  CHECK(
      contains(ofTrain("nll_loss", "loss_input"), "nll_loss of logarithms of probabilities is never below"));
  CHECK(
      contains(ofTrain("ctc_loss", "loss_input"), "ctc_loss of logarithms of probabilities is never below"));
  CHECK(contains(ofTrain("binary_cross_entropy", "target_range"), "targets from 0 to 1 is never below zero"));
  CHECK(ofTrain("elbo", "loss_input").empty());
  CHECK(ofLoss("mse_loss", "loss_input", -2, false).empty());  // of what it cannot be, and nobody knows why
}

TEST_CASE("result_unused names an average of weights that is given to a local name") {
  CHECK(contains(ofAverage("add", false),
                 "computes of Target/weight and another parameter is read by nothing"));
  CHECK(ofAverage("add", true).empty());    // p.data = …
  CHECK(ofAverage("add_", false).empty());  // in place
}

TEST_CASE("no_gradient hints at a sample that stops the gradient") {
  CHECK(contains(ofSample(false), "it is drawn without a gradient, and Net/b/mm-op1 learns of it"));
  CHECK_FALSE(contains(ofSample(true), "drawn"));
}

TEST_CASE("softmax_axis names a cross-entropy over the places of what a Linear gives") {
  const auto apart = [](std::int64_t stride) {
    Program p;
    forward(p, "_log_softmax", {learnt(p, {8, 16})}, {2, 4, 16},
            {{"dim", std::int64_t{1}}, {"axis_stride", stride}});
    return saidOf(p, "softmax_axis", Severity::kFault);
  };
  CHECK(contains(apart(16), "the classes that Net/mm-op1 gives are the last axis"));
  CHECK(apart(1).empty());  // transposed
}

TEST_CASE("softmax_axis names weights of edges that are normalised over all edges") {
  CHECK(contains(ofEdges("index_add"), "runs over all rows of [8]"));
  CHECK(contains(ofEdges("index_add_"), "runs over all rows of [8]"));
  CHECK(ofEdges("add").empty());
}

TEST_CASE("loss_input names places of maxima that are taken for values") {
  CHECK(contains(ofMaximum(1, true), "are the places of the largest values"));
  CHECK(ofMaximum(0, true).empty());
  CHECK(ofMaximum(1, false).empty());  // where it is may be what is asked for
}

TEST_CASE("loss_input names a term of the loss that has no gradient") {
  CHECK(contains(ofTerms(false), "it is a term of the loss, and no gradient goes back through it"));
  CHECK(ofTerms(true).empty());
  CHECK(ofTerms(false, true).empty());  // a + (b - a).detach()
}

TEST_CASE("loss_input knows a squared mean, and sums that are added to each sample") {
  CHECK(contains(ofSquare(true), "the mean of 128 differences is squared"));
  CHECK(ofSquare(false).empty());
  CHECK(contains(ofSums(true), "it sums over all of [8, 16], the 8 samples too"));
  CHECK_FALSE(contains(ofSums(false), "it sums over all"));
}

TEST_CASE("softmax_axis names a norm along another axis than the product of what it normalised") {
  CHECK(contains(ofContrast(0, false), "the norm runs along axis 0 of [8, 16], but main/mm-op1 multiplies"));
  CHECK(ofContrast(1, false).empty());
  CHECK(ofContrast(0, true).empty());  // columns are compared over the batch, as Barlow Twins do
  CHECK(contains(ofContrast(1, true), "the norm runs along axis 1 of [8, 16]"));
  CHECK(contains(ofContrast(0, false, true), "the norm runs along axis 0 of [8, 16]"));  // views of one batch
  CHECK(ofContrast(1, false, true).empty());
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

TEST_CASE("loss_input names classes that are in another order than the rows of the logits") {
  enum class Way { kKept, kTransposed, kView, kCopy };
  const auto ofOrder = [](Way way, const std::string& tokens, std::int64_t samples = 4) {
    Program p;
    const TensorId table = p.source(TensorRole::kParameter, "Net/embed/weight", {8, 16});
    const Shape placesFirst = {8, samples, 16}, samplesFirst = {samples, 8, 16};
    TensorId x = forward(p, "embedding", {table, p.x}, placesFirst);
    if (way == Way::kTransposed)
      x = forward(p, "permute", {x}, samplesFirst, {{"dims", std::vector<std::int64_t>{1, 0, 2}}});
    if (way == Way::kCopy) x = forward(p, "clone", {x}, samplesFirst);
    const Shape shape = way == Way::kView ? samplesFirst : p.graph.tensor(x).shape;
    x = forward(p, "native_layer_norm", {x}, shape);  // of a transposed view, where the shape is another one
    x = forward(p, "add", {x, x}, shape);
    x = forward(p, "addmm", {table, x, table}, {8 * samples, 16});
    x = forward(p, "_log_softmax", {x}, {8 * samples, 16}, {{"dim", std::int64_t{1}}});
    forward(p, "nll_loss_forward", {x, p.x}, {}, {{"next_across", tokens}}, TensorRole::kLoss);
    return saidOf(p, "loss_input", Severity::kFault);
  };
  const char* const kEmbedding = "main/embedding-op1";
  CHECK(contains(ofOrder(Way::kKept, kEmbedding),
                 "its rows and its classes are flattened in different orders"));
  for (const Way way : {Way::kTransposed, Way::kView, Way::kCopy})
    CHECK(ofOrder(way, kEmbedding).empty());                // so are the rows
  CHECK(ofOrder(Way::kKept, "Net/embedding-op1").empty());  // of other tokens
  CHECK(ofOrder(Way::kKept, kEmbedding, 8).empty());        // nobody can tell
}

TEST_CASE("loss_input takes the recorder's word for labels that are the blank of a CTC loss") {
  Program p;
  forward(p, "_ctc_loss", {p.x, p.x}, {8}, {{"holds_blank", std::int64_t{0}}});
  CHECK(contains(saidOf(p, "loss_input", Severity::kFault), "its labels hold 0, which is its blank"));
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

namespace {

// The overlap of predicted boxes with those of the data, of sides of which the least is `least`.
std::string ofOverlap(double least, bool cutOff, bool folded) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16}), y = p.layer("Net", p.x, w);
  const TensorId sides =
      forward(p, "sub", {forward(p, "minimum", {y, p.x}, {8, 16}), forward(p, "maximum", {y, p.x}, {8, 16})},
              {8, 16});
  const TensorId cut = cutOff ? forward(p, "clamp", {sides}, {8, 16}, {{"min", 0.0}}) : sides;
  const auto side = [&](std::int64_t which) {
    return folded ? cut : forward(p, "select", {cut}, {8}, {{"dim", std::int64_t{1}}, {"index", which}});
  };
  forward(p, "mul", {side(0), side(1)}, {8});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), sides, numbers({8, 16}, 1, 1 + least));
  return said(source, "loss_input", Severity::kFault);
}

// Beside such an overlap the area of the boxes of the batch, of which the least is `least`.
std::string ofArea(double least, bool folded, std::int64_t columns = 4, bool overlaps = true) {
  Program p;
  const TensorId w = p.source(TensorRole::kParameter, "Net/weight", {16, 16}), y = p.layer("Net", p.x, w);
  const TensorId boxes = p.source(TensorRole::kLabel, "batch/1", {8, columns});
  if (overlaps)
    forward(p, "sub", {forward(p, "minimum", {y, p.x}, {8, 16}), forward(p, "maximum", {y, p.x}, {8, 16})},
            {8, 16});
  const auto column = [&](std::int64_t which) {
    return folded ? boxes : forward(p, "select", {boxes}, {8}, {{"dim", std::int64_t{1}}, {"index", which}});
  };
  const TensorId width = forward(p, "sub", {column(2), column(0)}, {8}),
                 height = forward(p, "sub", {column(3), column(1)}, {8});
  const TensorId area = forward(p, "mul", {width, height}, {8});
  FakeSource source(p.graph, 1, 1);
  source.record(Rank(0), Iteration(0), area, numbers({8}, 0.5, 0.5 + least));
  return said(source, "loss_input", Severity::kFault);
}

}  // namespace

TEST_CASE("loss_input names boxes of the batch that have a negative area, beside an overlap") {
  for (const bool folded : {false, true}) {
    CAPTURE(folded);
    CHECK(contains(ofArea(-0.3, folded), "the area of boxes of batch/1 is below zero"));
    CHECK(ofArea(0.1, folded).empty());
    CHECK(ofArea(-0.3, folded, 6).empty());         // something else than boxes
    CHECK(ofArea(-0.3, folded, 4, false).empty());  // a product of differences may be anything
  }
}

TEST_CASE("loss_input names sides of an overlap that are negative when they are multiplied") {
  for (const bool folded : {false, true}) {
    CAPTURE(folded);
    CHECK(contains(ofOverlap(-2, false, folded), "the sides of an overlap are below zero"));
    CHECK(ofOverlap(-2, true, folded).empty());
    CHECK(ofOverlap(0.1, false, folded).empty());  // all boxes meet
  }
}

TEST_CASE("table_lookup hints at a row of padding that one index a sample looks up") {
  const auto ofLookups = [](int lookups, Attributes facts) {
    Program p;
    const TensorId table = p.source(TensorRole::kParameter, "Net/user/weight", {60, 16});
    for (int i = 0; i < lookups; ++i) forward(p, "embedding", {table, p.x}, {8, 16}, facts);
    return saidOf(p, "table_lookup", Severity::kHint);
  };
  const Attributes facts = {{"padding", std::int64_t{0}}, {"looks_up_padding", 0.125}};
  CHECK(contains(ofLookups(2, facts), "12.5 % of the indices are 0, the row that Net/user/weight keeps"));
  CHECK(ofLookups(1, {{"padding", std::int64_t{0}}}).empty());
  CHECK(ofLookups(6, facts).empty());  // place by place
}

TEST_CASE("growing_graph is a fault where backward passes go through what grows, else a hint") {
  CHECK(contains(ofGraph(true, Severity::kFault), "the graph of the loss reaches back 11 iterations"));
  CHECK(ofGraph(false, Severity::kFault).empty());
  CHECK(contains(ofGraph(false, Severity::kHint), "carries the graphs of the 11 iterations before"));
}

}  // namespace msdbg::test
