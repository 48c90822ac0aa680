#include "replay/diff/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "core_engine/base/text.h"
#include "core_engine/graph/graph_text.h"
#include "watchpoints/conditions/targets.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::replay {

using core::Iteration;
using core::Rank;
using core::TensorId;
using core::TensorInfo;

const AlignedPair& AlignedPairs::of(Rank rankA, Iteration iterationA, Rank rankB, Iteration iterationB) {
  const Key key{m_a.part(rankA, iterationA), m_b.part(rankB, iterationB), rankA, rankB};
  std::unique_ptr<AlignedPair>& pair = m_pairs[key];
  if (pair) return *pair;
  pair = std::make_unique<AlignedPair>(
      AlignedPair{GraphSide(m_a.graph(), key.a), GraphSide(m_b.graph(), key.b), {}, {}, {}});
  pair->alignment = align(pair->a, pair->b);
  for (const AlignedTensor& tensor : pair->alignment.tensors) {
    pair->judged.push_back(judged(*pair, tensor, rankA, rankB));
    pair->wanted.push_back(m_tensors.empty() || std::ranges::count(m_tensors, tensor.a) > 0);
  }
  return *pair;
}

AlignedPairs::Agreed::Agreed(Run& run, Judging judging) : graph(run.graph()) {
  if (judging != Judging::kAll && watch::isOfTorch(graph)) ofTorch = watch::replicasOf(run);
}

bool AlignedPairs::Agreed::has(TensorId tensor) const {
  const TensorInfo& info = graph.tensor(tensor);
  // Copies of one model are trained at one rate.
  if (info.role == core::TensorRole::kHyperparameter && !ofTorch.parameters.empty()) return true;
  const TensorId value = info.updateOf.valid() ? info.updateOf : tensor;
  return watch::isReplicated(graph, info) || std::ranges::count(ofTorch.parameters, value) > 0;
}

bool AlignedPairs::Agreed::areTogether(Rank a, Rank b) const {
  const auto hasBoth = [&](const std::vector<Rank>& group) {
    return std::ranges::count(group, a) > 0 && std::ranges::count(group, b) > 0;
  };
  return ofTorch.groups.empty() || std::ranges::any_of(ofTorch.groups, hasBoth);
}

bool AlignedPairs::judged(const AlignedPair& pair, const AlignedTensor& tensor, Rank rankA,
                          Rank rankB) const {
  if (m_judging == Judging::kAll) return true;
  const bool inA = m_agreedA.has(tensor.a), inB = m_agreedB.has(tensor.b);
  const bool constant = m_a.graph().tensor(tensor.a).role == core::TensorRole::kConstant;
  if (m_judging == Judging::kReduced)  // constants may say how many ranks there are
    return !constant && (inA || m_a.rankCount() == 1) && (inB || m_b.rankCount() == 1) && tensor.sameType;
  const auto isIn = [](std::span<const std::int32_t> ranks, Rank rank) {
    return ranks.empty() || std::ranges::binary_search(ranks, static_cast<std::int32_t>(rank.value));
  };
  const auto ranks = pair.a.replicas(tensor.a);
  return inA && isIn(ranks, rankA) && isIn(ranks, rankB) && m_agreedA.areTogether(rankA, rankB);
}

namespace {

std::string typesText(const GraphSide& side, const core::Node& node) {
  std::vector<std::string> types;
  for (const TensorId output : node.outputs)
    types.push_back(
        fmt::format("{} {}", core::dtypeName(side.graph().tensor(output).dtype), side.shape(output).text()));
  return core::join(types, ", ");
}

std::string textOf(const core::Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? "none" : core::attributeText(found->second);
}

std::string changeText(const AlignedPair& pair, const AlignedNode& aligned, bool types) {
  const core::Node &a = pair.a.graph().node(aligned.a), &b = pair.b.graph().node(aligned.b);
  std::vector<std::string> changes;
  if (a.opType != b.opType) changes.push_back(a.opType + " -> " + b.opType);
  const core::Attributes &left = pair.a.attributes(a), &right = pair.b.attributes(b);
  core::Attributes names = left;
  names.insert(right.begin(), right.end());
  for (const auto& [name, value] : names)
    if ((types || !std::holds_alternative<std::vector<std::int64_t>>(value)) &&
        textOf(left, name) != textOf(right, name))
      changes.push_back(fmt::format("attribute {}: {} -> {}", name, textOf(left, name), textOf(right, name)));
  if (types && typesText(pair.a, a) != typesText(pair.b, b))
    changes.push_back(typesText(pair.a, a) + " -> " + typesText(pair.b, b));
  const auto readA = pair.a.inputs(a), readB = pair.b.inputs(b);
  if (!std::ranges::equal(readA, readB, [&](TensorId x, TensorId y) { return pair.alignment.toB(x) == y; }))
    changes.emplace_back("reads something else");
  return core::join(changes, "; ");
}

}  // namespace

GraphDifference graphDifference(const AlignedPair& pair, bool types) {
  const Alignment& alignment = pair.alignment;
  GraphDifference found;
  found.nodesA = pair.a.nodeCount();
  found.nodesB = pair.b.nodeCount();
  found.aligned = static_cast<std::int64_t>(alignment.nodes.size());
  found.onlyA = alignment.onlyA;
  found.onlyB = alignment.onlyB;
  found.sourcesOnlyA = alignment.sourcesOnlyA;
  found.sourcesOnlyB = alignment.sourcesOnlyB;
  for (const AlignedNode& each : alignment.nodes) {
    if (pair.a.graph().node(each.a).name != pair.b.graph().node(each.b).name) found.renamed.push_back(each);
    if (std::string what = changeText(pair, each, types); !what.empty())
      found.changed.push_back({each.a, each.b, std::move(what)});
  }
  return found;
}

}  // namespace msdbg::replay
