// Attention that sees what it has to predict: each label is the next token, and the mask that should hide
// what comes after a place is turned round, ends one place too late, or is not there.
#include <algorithm>

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/given_values.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;
using core::TensorRole;

/// Which places a place does not see: [places, places], row by row.
struct Hidden {
  explicit Hidden(std::int64_t length) : places(length), at(static_cast<std::size_t>(length * length)) {}
  std::vector<bool>::reference operator()(std::int64_t i, std::int64_t j) {
    return at[static_cast<std::size_t>(i * places + j)];
  }
  /// How much of the pairs (i, i + step) is hidden.
  double share(std::int64_t step) {
    double hidden = 0, pairs = 0;
    for (std::int64_t i = std::max<std::int64_t>(0, -step); i < places && i + step < places; ++i)
      hidden += (*this)(i, i + step), ++pairs;
    return hidden / pairs;
  }

  std::int64_t places;
  std::vector<bool> at;
};

constexpr double kMinusInfinity = -1e3;  // added to a score: nothing is left of it after the softmax

/// Element (i, j) of the last two dimensions, of the first of all others; those of size 1 are broadcast.
double elementAt(const Tensor& tensor, std::int64_t i, std::int64_t j) {
  const core::Shape& shape = tensor.shape();
  const std::size_t rank = shape.rank();
  const std::int64_t columns = rank > 0 ? shape[rank - 1] : 1, rows = rank > 1 ? shape[rank - 2] : 1;
  return tensor.at((rows > 1 ? i : 0) * columns + (columns > 1 ? j : 0));
}

bool fits(const Tensor& mask, std::int64_t places) {
  const core::Shape& shape = mask.shape();
  for (std::size_t back = 1; back <= std::min<std::size_t>(2, shape.rank()); ++back)
    if (const std::int64_t size = shape[shape.rank() - back]; size != 1 && size != places) return false;
  return true;
}

/// The masks between the scores and the softmax, and the operator that made the first of them.
class MaskReader {
 public:
  MaskReader(const Graph& graph, GivenValues& given, std::int64_t places)
      : m_graph(graph), m_given(given), hidden(places) {}

  void read(TensorId scores) {
    for (int steps = 0; steps < 8; ++steps) {
      const core::NodeId producer = m_graph.tensor(scores).producer;
      if (!producer.valid()) return;
      const TensorId next = readNode(m_graph.node(producer));
      if (!next.valid()) return;
      scores = next;
    }
  }

 private:
  /// The scores that the operator reads; invalid where they end.
  TensorId readNode(const Node& node) {
    if (node.opType == "Identity" || node.opType == "Cast") return node.inputs[0];
    if (node.opType == "Where") return readWhere(node);
    if (node.inputs.size() != 2) return {};
    const bool sum = node.opType == "Add" || node.opType == "Sub";
    if (!sum && node.opType != "Mul" && node.opType != "Div") return {};
    for (const std::size_t i : {1, 0}) {
      const std::optional<Tensor> mask = m_given.of(node.inputs[i]);
      if (!mask) continue;
      const double sign = node.opType == "Sub" && i == 1 ? -1 : 1;
      if (sum)
        add(node.inputs[i], *mask,
            [&](std::int64_t a, std::int64_t b) { return sign * elementAt(*mask, a, b) < kMinusInfinity; });
      return node.inputs[1 - i];
    }
    return {};
  }

  TensorId readWhere(const Node& node) {
    const std::optional<Tensor> condition = m_given.of(node.inputs[0]);
    for (const std::size_t i : {1, 2}) {
      const std::optional<Tensor> other = condition ? m_given.of(node.inputs[i]) : std::nullopt;
      if (!other || other->elements() == 0 || other->at(0) >= kMinusInfinity) continue;
      add(node.inputs[0], *condition,
          [&](std::int64_t a, std::int64_t b) { return (elementAt(*condition, a, b) != 0) == (i == 1); });
      return node.inputs[3 - i];
    }
    return {};
  }

  template <typename Hides>
  void add(TensorId mask, const Tensor& value, const Hides& hides) {
    if (!fits(value, hidden.places)) return;
    bool any = false;
    for (std::int64_t i = 0; i < hidden.places; ++i)
      for (std::int64_t j = 0; j < hidden.places; ++j)
        if (hides(i, j)) hidden(i, j) = any = true;
    if (any && !made.valid()) made = maskMaker(m_graph, mask);
  }

  const Graph& m_graph;
  GivenValues& m_given;

 public:
  Hidden hidden;
  core::NodeId made;  // invalid: there is no mask, or it is an input
};

class TargetLeak : public Evaluator {
 public:
  explicit TargetLeak(const Graph& graph) {
    for (const Node& node : graph.nodes())
      if (node.phase == core::Phase::kForward && node.opType == "Softmax" && placesOf(graph, node) >= kLeast)
        m_attention.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    // Until a batch is there: values of the first iterations may have been dropped.
    if (m_attention.empty() || m_done || context.ranks.empty()) return;
    if (!m_begin.valid()) m_begin = context.iteration;
    GivenValues given(context.source, context.ranks.front(), context.iteration);
    m_done = hasBatch(context.graph(), given);
    for (const core::NodeId id : m_attention) {
      const Node& softmax = context.graph().node(id);
      const std::int64_t places = placesOf(context.graph(), softmax);
      const TensorId tokens = predictedTokens(context.graph(), given, places);
      if (!tokens.valid() && lookAtCopies(context, given, softmax)) return;
      if (!tokens.valid()) continue;
      ++context.evaluated;
      if (lookAt(context, given, softmax, tokens)) return;  // the layers that follow are made alike
    }
  }

 private:
  static constexpr std::int64_t kLeast = 3;

  /// Of a softmax over the last of two equal dimensions, as the weights of self-attention have; 0: another.
  static std::int64_t placesOf(const Graph& graph, const Node& node) {
    const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
    const std::size_t rank = shape.rank();
    if (rank < 2 || !shape.known() || shape[rank - 1] != shape[rank - 2]) return 0;
    const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
    return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1 ? shape[rank - 1] : 0;
  }

  static bool hasBatch(const Graph& graph, GivenValues& given) {
    return std::ranges::any_of(graph.tensors(), [&](const core::TensorInfo& info) {
      return isInteger(info, TensorRole::kInput) && given.of(info.id);
    });
  }

  static bool isInteger(const core::TensorInfo& info, TensorRole role) {
    return info.role == role && (info.dtype == core::DType::Int64 || info.dtype == core::DType::Int32);
  }

  /// The tokens [.., places] of which each label is the next one; invalid: none.
  static TensorId predictedTokens(const Graph& graph, GivenValues& given, std::int64_t places) {
    for (const core::TensorInfo& tokens : graph.tensors()) {
      const core::Shape& shape = tokens.shape;
      if (!isInteger(tokens, TensorRole::kInput) || shape.rank() == 0 || shape[shape.rank() - 1] != places)
        continue;
      for (const core::TensorInfo& labels : graph.tensors())
        if (isInteger(labels, TensorRole::kLabel) || isInteger(labels, TensorRole::kInput))
          if (labels.id != tokens.id && isNext(given, tokens.id, labels.id, places)) return tokens.id;
    }
    return {};
  }

  /// Labels that are the tokens themselves: a model of the next token was meant, where the next place is
  /// hidden.
  bool lookAtCopies(EvaluationContext& context, GivenValues& given, const Node& softmax) const {
    const Graph& graph = context.graph();
    for (const core::TensorInfo& label : graph.tensors()) {
      if (!isInteger(label, TensorRole::kLabel)) continue;
      const std::optional<Tensor> y = given.of(label.id);
      for (const core::TensorInfo& tokens : graph.tensors()) {
        if (!y || !isInteger(tokens, TensorRole::kInput) || tokens.shape.rank() < 2) continue;
        const std::optional<Tensor> x = given.of(tokens.id);
        if (!x || x->elements() != y->elements() || !std::ranges::equal(x->byteSpan(), y->byteSpan()))
          continue;
        MaskReader mask(graph, given, placesOf(graph, softmax));
        mask.read(softmax.inputs.front());
        Finding finding =
            findingAt(context, {context.iteration, context.ranks.front(), label.id}, precedence::kStructure);
        finding.detail =
            label.name + " is " + tokens.name +
            " itself, place by place: there is nothing to predict; the next token was meant, one place on";
        finding.advice =
            "Shift the labels by one against the tokens: x is text[i .. i + n], the label text[i + 1 .. i + "
            "n + 1].";
        if (mask.hidden.share(1) < 0.5) finding.severity = Severity::kHint;
        finding.iteration = m_begin;
        context.findings.push_back(std::move(finding));
        return true;
      }
    }
    return false;
  }

  static bool isNext(GivenValues& given, TensorId tokens, TensorId labels, std::int64_t places) {
    const std::optional<Tensor> x = given.of(tokens), y = given.of(labels);
    if (!x || !y || x->elements() != y->elements()) return false;
    std::int64_t next = 0, same = 0, pairs = 0;
    for (std::int64_t i = 0; i + 1 < x->elements(); ++i) {
      if (i % places == places - 1) continue;
      ++pairs;
      next += y->at(i) == x->at(i + 1);
      same += y->at(i) == x->at(i);
    }
    return pairs >= 8 && next > 0.95 * static_cast<double>(pairs) && same < 0.9 * static_cast<double>(pairs);
  }

  bool lookAt(EvaluationContext& context, GivenValues& given, const Node& softmax, TensorId tokens) const {
    MaskReader mask(context.graph(), given, placesOf(context.graph(), softmax));
    mask.read(softmax.inputs.front());
    if (mask.hidden.share(1) > 0.5) return false;  // the next place is hidden
    const bool turned = mask.hidden.share(-1) > 0.5, later = mask.hidden.share(2) > 0.5;
    const std::string& name = context.graph().tensor(tokens).name;
    const std::string label = "the label of place i is token i + 1 of " + name;
    Finding finding = findingAtNode(
        context, mask.made.valid() ? mask.made : softmax.id,
        turned ? "the mask is turned round: place i sees what comes after it, not what was before; " + label +
                     ", so that the answer is seen"
        : later ? "the mask begins one place too late: place i sees place i + 1; " + label +
                      ", so that the answer is seen"
                : "no mask hides what comes after a place, and " + label + ": the answer is seen");
    if (!turned && !later) finding.severity = Severity::kHint;
    finding.iteration = m_begin;
    context.findings.push_back(std::move(finding));
    return true;
  }

  std::vector<core::NodeId> m_attention;
  core::Iteration m_begin;  // a mask is wrong from here on, whichever batch shows it
  bool m_done = false;
};

}  // namespace

ConditionDef targetLeakCondition() {
  ConditionDef def;
  def.id = "target_leak";
  def.title = "The answer is seen";
  def.doc =
      "Self-attention over tokens whose labels are the next tokens, in the first batch that is stored: its "
      "mask, "
      "computed "
      "from constants and the batch, does not hide the next place. A hint where there is no such mask at "
      "all.";
  def.advice = "Hide the places j > i of row i: greater(j, i) where the score gets -1e9 before the softmax.";
  def.target = Target::kActivation;
  def.needsValues = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<TargetLeak>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "needs the values of a batch"; };
  return def;
}

}  // namespace msdbg::watch
