// Attention that sees what it has to predict: each label is the next token, and the mask that should hide
// what comes after a place is turned round, ends one place too late, hides nothing, or is not there. And
// labels that are what the model reads.
#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/conditions/copied_targets.h"
#include "watchpoints/conditions/leaked_column.h"
#include "watchpoints/conditions/leaked_steps.h"
#include "watchpoints/conditions/score_mask.h"
#include "watchpoints/conditions/unmasked_attention.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;
using core::TensorRole;

class TargetLeak : public Evaluator {
 public:
  explicit TargetLeak(const Graph& graph) : m_copies(graph), m_columns(graph) {
    for (const Node& node : graph.nodes())
      if (node.phase == core::Phase::kForward && node.opType == "Softmax" && placesOf(graph, node) >= kLeast)
        m_attention.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    m_copies.add(context);
    m_columns.add(context);
    if (!m_asked && !context.ranks.empty()) lookAtFacts(context);
    // Until a batch is there: values of the first iterations may have been dropped.
    if (m_attention.empty() || m_done || context.ranks.empty()) return;
    const bool first = !m_begin.valid();
    if (first) m_begin = context.iteration;
    GivenValues given(context.source, context.ranks.front(), context.iteration);
    m_done = hasBatch(context.graph(), given);
    if (!first && !m_done) return;  // what constants alone make was looked at
    for (const core::NodeId id : m_attention) {
      const Node& softmax = context.graph().node(id);
      const std::int64_t places = placesOf(context.graph(), softmax);
      ScoreMask mask(context.graph(), given, places);
      mask.read(softmax.inputs.front());
      const TensorId tokens = predictedTokens(context.graph(), given, places);
      if (tokens.valid()) ++context.evaluated;
      const bool found =
          lookAtWeak(context, mask, tokens) ||
          (tokens.valid() ? lookAt(context, mask, softmax, tokens) : lookAtCopies(context, given, mask));
      if (found) {  // the layers that follow are made alike
        m_done = m_found = true;
        return;
      }
    }
  }

  void finish(EvaluationContext& context) override {
    if (!m_found) m_copies.finish(context);
    m_columns.finish(context);
  }

 private:
  static constexpr std::int64_t kLeast = 3;

  /// What a recorder found that keeps no values.
  void lookAtFacts(EvaluationContext& context) {
    m_asked = true;
    std::optional<Finding> found = unmaskedAttention(context);
    if (!found) found = tokensAsClasses(context);
    if (!found) found = leakedSteps(context);
    if (!found) return;
    m_done = m_found = true;
    ++context.evaluated;
    context.findings.push_back(*std::move(found));
  }

  /// Right where a model is to give back what it reads, as an autoencoder does.
  static std::optional<Finding> tokensAsClasses(EvaluationContext& context) {
    const Graph& graph = context.graph();
    for (const Node& loss : graph.nodes()) {
      const std::string name = foreignAttribute(loss, fact::kSameAs, std::string());
      const auto embedding = name.empty() ? std::nullopt : graph.findNode(name);
      if (!embedding || loss.outputs.empty()) continue;
      Finding finding =
          findingAtNode(context, loss.id,
                        "its classes are the tokens that " + name +
                            " reads, place by place: where the next token was meant, the labels are "
                            "not shifted by one");
      finding.severity = Severity::kHint;
      finding.advice =
          "Shift the labels by one against the tokens: x is text[i .. i + n], the label text[i + 1 .. i + n "
          "+ 1]. A "
          "model that is to give back what it reads is right as it is.";
      return finding;
    }
    return std::nullopt;
  }

  /// Of a softmax over the last of two equal dimensions, as the weights of self-attention have; 0: another.
  static std::int64_t placesOf(const Graph& graph, const Node& node) {
    const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
    const std::size_t rank = shape.rank();
    if (rank < 2 || !shape.known() || shape[rank - 1] != shape[rank - 2]) return 0;
    const std::int64_t axis = core::intAttribute(node.attributes, "axis", -1);
    return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1 ? shape[rank - 1] : 0;
  }

  /// Or none that could tell more.
  static bool hasBatch(const Graph& graph, GivenValues& given) {
    bool any = false;
    for (const core::TensorInfo& info : graph.tensors()) {
      if (!isInteger(info, TensorRole::kInput)) continue;
      if (given.of(info.id)) return true;
      any = true;
    }
    return !any;
  }

  static bool isInteger(const core::TensorInfo& info, TensorRole role) {
    return info.role == role && core::isInteger(info.dtype);
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
  bool lookAtCopies(EvaluationContext& context, GivenValues& given, ScoreMask& mask) const {
    const Graph& graph = context.graph();
    for (const core::TensorInfo& label : graph.tensors()) {
      if (!isInteger(label, TensorRole::kLabel)) continue;
      const std::optional<Tensor> y = given.of(label.id);
      for (const core::TensorInfo& tokens : graph.tensors()) {
        if (!y || !isInteger(tokens, TensorRole::kInput) || tokens.shape.rank() < 2) continue;
        const std::optional<Tensor> x = given.of(tokens.id);
        if (!x || x->elements() != y->elements() || !std::ranges::equal(x->byteSpan(), y->byteSpan()))
          continue;
        Finding finding = findingAt(context, {context.iteration, context.rankWith(label.id), label.id},
                                    precedence::kStructure);
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

  /// A mask is there, but what it adds is too small: for a mask that would hide the label of a place,
  /// anything that a softmax feels; for any other, what changes no weight.
  bool lookAtWeak(EvaluationContext& context, ScoreMask& mask, TensorId tokens) const {
    constexpr double kNothing = -1e-3;
    if (!mask.weak) return false;
    const double lowest = mask.weak->lowest;
    const bool leaks = tokens.valid() && mask.weak->meant.share(1) > 0.5 && mask.hidden.share(1) < 0.5;
    if (lowest < kNothing && !leaks) return false;
    Finding finding = findingAtNode(context, mask.weak->made,
                                    std::string("a mask is added and hides ") +
                                        (lowest < kNothing ? "too little" : "nothing") +
                                        ": its lowest value is " + core::formatShort(lowest) +
                                        ", which leaves " + core::formatShort(100 * std::exp(lowest)) +
                                        " % of each weight that it is to take away; was -1e9 meant?");
    finding.iteration = m_begin;
    finding.actual = lowest;
    finding.advice =
        "Let it add -1e9 where it is to hide and 0 elsewhere; its places are right, its numbers are not.";
    context.findings.push_back(std::move(finding));
    return true;
  }

  bool lookAt(EvaluationContext& context, ScoreMask& mask, const Node& softmax, TensorId tokens) const {
    if (mask.hidden.share(1) > 0.5) return false;  // the next place is hidden
    const bool turned = mask.hidden.share(-1) > 0.5, later = mask.hidden.share(2) > 0.5;
    if (!turned && !later && !weighsRightAway(context.graph(), softmax.outputs.front()))
      return false;  // something hides it after the softmax
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
  bool m_asked = false, m_done = false, m_found = false;
  CopiedTargets m_copies;
  LeakedColumn m_columns;
};

}  // namespace

ConditionDef targetLeakCondition() {
  ConditionDef def;
  def.id = "target_leak";
  def.title = "The answer is seen";
  def.doc =
      "Self-attention over tokens whose labels are the next tokens, in the first batch that is stored: its "
      "mask, computed from constants and the batch, does not hide the next place. A hint where there is no "
      "such mask at all. Of PyTorch at level ops the same, also where no value is stored: the recorder looks "
      "at masks and "
      "labels, and it is a fault, too, where an attention on the way from the tokens to the loss has no "
      "mask. Any attention: a mask of two values adds so little that it hides nothing. A hint: the classes "
      "of a cross-entropy have the same bits as the tokens that an embedding reads, in every iteration. A "
      "fault: a target of one number a sample is a column of an input, bit for bit in the first three "
      "batches that are stored (a hint where it is scaled and shifted, as what was standardised); or its "
      "steps go, each, into the prediction of that same step, and into none "
      "before "
      "(of a decoder that is written out step by step).";
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
