#include "watchpoints/conditions/masked_target.h"

#include <map>
#include <set>

#include "watchpoints/conditions/makers.h"

namespace msdbg::watch {

using core::Graph;
using core::Node;
using core::Tensor;
using core::TensorId;

namespace {

constexpr int kBatches = 3;

/// Nothing else than one operator of the forward pass reads it.
bool hasOneReader(const Graph& graph, TensorId tensor) {
  const auto users = graph.consumers(tensor);
  std::set<core::NodeId> readers;
  for (const core::NodeId user : users)
    if (graph.node(user).phase == core::Phase::kForward) readers.insert(user);
  return readers.size() == 1;
}

/// The difference that an error is made of: its magnitude, its square, or itself; nullptr: none, or something
/// else is made of it, too.
const Node* differenceIn(const Graph& graph, TensorId error) {
  static constexpr auto kMagnitudes = std::to_array<std::string_view>({"Abs", "ReduceSum", "ReduceMean"});
  for (int steps = 0; steps < 4; ++steps) {
    const Node* node = makerOf(graph, error);
    if (!node || !hasOneReader(graph, node->outputs.front())) return nullptr;
    if (node->opType == "Sub") return node;
    const TensorId squared = squaredInput(graph, node->outputs.front());
    if (!squared.valid() && !isOneOf(node, kMagnitudes)) return nullptr;
    error = squared.valid() ? squared : node->inputs.front();
  }
  return nullptr;
}

/// The side of a difference that the batch brings, where the other one is learnt.
TensorId targetOf(const Graph& graph, const Node& difference, const std::vector<bool>& learnt) {
  for (const std::size_t i : {0, 1}) {
    const TensorId target = originOf(graph, difference.inputs[i]);
    if (isData(graph, target) && isFloating(graph.tensor(target).dtype) &&
        learnt[difference.inputs[1 - i].index()])
      return target;
  }
  return {};
}

/// The place of an element among fewer, whose shape ends, or begins, as the other one does; nullopt: it does
/// not fit.
std::optional<std::int64_t> placeIn(const core::Shape& few, const core::Shape& all, std::int64_t element) {
  if (few.rank() > all.rank()) return std::nullopt;
  std::int64_t place = 0, stride = 1, rest = element;
  for (std::size_t back = 1; back <= all.rank(); ++back) {
    const std::int64_t size = all[all.rank() - back], at = rest % size;
    rest /= size;
    if (back > few.rank()) continue;
    const std::int64_t own = few[few.rank() - back];
    if (own != 1 && own != size) return std::nullopt;
    if (own != 1) place += at * stride, stride *= own;
  }
  return place;
}

}  // namespace

MaskedTarget::MaskedTarget(const Graph& graph) {
  const std::vector<bool> learnt = learntTensors(graph);
  std::map<TensorId, int> compared;  // how often each target is
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward) continue;
    if (node.opType == "Sub" && node.inputs.size() == 2)
      if (const TensorId target = targetOf(graph, node, learnt); target.valid()) ++compared[target];
    if (!isProduct(&node) || node.inputs.size() != 2) continue;
    for (const std::size_t i : {0, 1}) {
      const Node* difference =
          learnt[node.inputs[i].index()] ? nullptr : differenceIn(graph, node.inputs[1 - i]);
      const TensorId target = difference ? targetOf(graph, *difference, learnt) : TensorId();
      if (target.valid()) m_weighted.push_back({node.id, node.inputs[i], target});
    }
  }
  std::erase_if(m_weighted, [&](const Weighted& each) { return compared[each.target] != 1; });
}

void MaskedTarget::add(EvaluationContext& context) {
  if (m_weighted.empty() || context.ranks.empty()) return;
  if (!m_begin.valid()) m_begin = context.iteration;
  for (Weighted& each : m_weighted) {
    if (each.right || each.batches == kBatches) continue;
    GivenValues given(context.source, context.rankWith(each.target), context.iteration);
    look(given, each);
    context.evaluated += each.batches;
  }
}

void MaskedTarget::look(GivenValues& given, Weighted& weighted) {
  const std::optional<Tensor> mask = given.of(weighted.mask), target = given.of(weighted.target);
  if (!mask || !target || mask->elements() == 0) return;
  bool hides = false, keeps = false, says = false;
  for (std::int64_t i = 0; i < target->elements(); ++i) {
    const auto place = placeIn(mask->shape(), target->shape(), i);
    if (!place) return;
    const bool kept = mask->at(*place) != 0, nonZero = target->at(i) != 0;
    keeps = keeps || kept;
    says = says || nonZero;
    hides = hides || (!kept && nonZero);
    if (kept && nonZero) weighted.right = true;
  }
  if (keeps && says && hides) ++weighted.batches;
}

void MaskedTarget::finish(EvaluationContext& context) const {
  for (const Weighted& each : m_weighted) {
    if (each.right || each.batches < kBatches) continue;
    const Graph& graph = context.graph();
    const Node& product = graph.node(each.product);
    const core::NodeId maker = graph.tensor(each.mask).producer;
    const Node* made = makerOf(graph, each.mask);
    const std::string& target = graph.tensor(each.target).name;
    Finding finding = findingAtNode(context, made ? made->id : (maker.valid() ? maker : product.id),
                                    graph.tensor(each.mask).fullName() + " weighs the errors of " + target +
                                        " in " + product.name + ", and is 0 wherever " + target +
                                        " is not: of all that the target says nothing is learnt, only where "
                                        "it is 0; the mask is turned round");
    finding.advice = "Keep the places where there is something to learn: the mask itself, not 1 - mask.";
    finding.iteration = m_begin;
    context.findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace msdbg::watch
