#include "watchpoints/conditions/copied_targets.h"

#include "core_engine/ops/op.h"
#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::TensorId;

namespace {

constexpr std::int64_t kLeast = 8;  // classes: fewer are equal by chance

/// Classes as the batch brings them; invalid: they are made of something, or are no integers.
TensorId broughtClasses(const Graph& graph, TensorId tensor) {
  const TensorId origin = originOf(graph, tensor);
  const core::TensorInfo& info = graph.tensor(origin);
  const bool many = info.shape.known() && info.shape.elements() >= kLeast;
  return isInteger(info.dtype) && many && isData(graph, origin) ? origin : TensorId();
}

struct CrossEntropy {
  TensorId predicted, label;
};
/// Of the operator, or of rows of 0 and 1 that pick from log-probabilities.
std::vector<CrossEntropy> crossEntropies(const Graph& graph, const std::vector<bool>& learnt) {
  static constexpr auto kLogs = std::to_array<std::string_view>({"LogSoftmax", "Log", "Sub"});
  std::vector<CrossEntropy> all;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.size() < 2) continue;
    if (node.opType == "SoftmaxCrossEntropyLoss") all.push_back({node.inputs[0], node.inputs[1]});
    if (node.opType != "Mul") continue;
    for (const std::size_t i : {0, 1}) {
      const Node* rows = makerOf(graph, node.inputs[i]);
      const TensorId other = node.inputs[1 - i];
      if (rows && rows->opType == "OneHot" && learnt[other.index()] && isOneOf(makerOf(graph, other), kLogs))
        all.push_back({other, rows->inputs.front()});
    }
  }
  std::erase_if(all, [&](CrossEntropy& each) {
    each.label = broughtClasses(graph, each.label);
    return !each.label.valid();
  });
  return all;
}

/// Something else is put before or between the places of what is read: what comes out for a place need not
/// have seen it.
bool movesPlaces(const Graph& graph, const Node& node, const std::vector<bool>& made) {
  if (node.opType == "Pad") return true;
  if (node.opType != "Concat") return false;
  const auto rank = static_cast<std::int64_t>(graph.tensor(node.outputs.front()).shape.rank());
  const std::int64_t axis = core::intAttribute(node.attributes, "axis", 0);
  const bool features = axis == -1 || axis == rank - 1;
  return !features && !std::ranges::all_of(node.inputs, [&](TensorId input) { return made[input.index()]; });
}

/// Whether each place of what is predicted comes of that place of what was read too, as far as the graph
/// tells: whatever else, from places before, is read besides.
bool keepsPlaces(const Graph& graph, TensorId read, TensorId predicted) {
  const std::vector<bool> made = madeFrom(graph, read);
  if (!made[predicted.index()]) return false;
  std::vector<bool> inPlace(graph.tensors().size());
  inPlace[read.index()] = true;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || movesPlaces(graph, node, made)) continue;
    if (std::ranges::none_of(node.inputs, [&](TensorId input) { return inPlace[input.index()]; })) continue;
    for (const TensorId output : node.outputs) inPlace[output.index()] = true;
  }
  return inPlace[predicted.index()];
}

/// What an operator looks up rows by; invalid: it does not.
TensorId lookedUpBy(const Graph& graph, const Node& node, const std::vector<bool>& learnt) {
  if (node.phase != core::Phase::kForward) return {};
  if (node.opType == "OneHot") return broughtClasses(graph, node.inputs[0]);
  if (node.opType != "Gather" || !learnt[node.inputs[0].index()]) return {};
  return broughtClasses(graph, node.inputs[1]);
}

}  // namespace

CopiedTargets::CopiedTargets(const Graph& graph) {
  const std::vector<bool> learnt = learntTensors(graph);
  for (const CrossEntropy& loss : crossEntropies(graph, learnt))
    for (const Node& node : graph.nodes()) {
      const TensorId tokens = lookedUpBy(graph, node, learnt);
      if (!tokens.valid() || graph.tensor(tokens).dtype != graph.tensor(loss.label).dtype) continue;
      if (graph.tensor(tokens).shape.elements() != graph.tensor(loss.label).shape.elements()) continue;
      if (keepsPlaces(graph, node.outputs.front(), loss.predicted)) m_pairs.push_back({tokens, loss.label});
    }
}

void CopiedTargets::add(EvaluationContext& context) {
  if (m_pairs.empty() || context.ranks.empty()) return;
  if (!m_begin.valid()) m_begin = context.iteration;
  std::erase_if(m_pairs, [&](Pair& pair) {
    for (const core::Rank rank : context.ranks) {
      const StatisticsRow* row = context.rows.now(rank, pair.tokens);
      if (!row) continue;
      const core::Hash128 hash = row->values.hash;
      row = context.rows.now(rank, pair.label);
      if (!row) continue;
      if (row->values.hash != hash) return true;
      pair.changed = pair.changed || (pair.iterations > 0 && hash != pair.first);
      if (pair.iterations++ == 0) pair.first = hash;
    }
    return false;
  });
}

void CopiedTargets::finish(EvaluationContext& context) const {
  const Graph& graph = context.graph();
  for (const Pair& pair : m_pairs) {
    if (pair.iterations == 0 || (pair.iterations > 1 && !pair.changed)) continue;
    Finding finding =
        findingAt(context, {m_begin, context.allRanks.front(), pair.label}, precedence::kStructure);
    finding.severity = Severity::kHint;
    const std::string& label = graph.tensor(pair.label).name;
    finding.detail = (pair.label == pair.tokens
                          ? label + ", which the model reads, is what it is to predict as well"
                          : label + " is " + graph.tensor(pair.tokens).name +
                                " itself, place by place, in every batch, and the model reads that") +
                     ": there is nothing to predict; right only if copying is the task";
    finding.advice =
        "To predict the next token, shift the labels by one against the tokens: x is text[i .. i + n], the "
        "label text[i + 1 .. i + n + 1].";
    context.findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace msdbg::watch
