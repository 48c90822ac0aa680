#include "watchpoints/meaning/meaning.h"

#include <algorithm>

#include "core_engine/graph/graph_text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/step.h"

namespace msdbg::watch {
namespace {

using core::Attributes;
using core::AttributeValue;
using core::Node;

constexpr DomainMeanings (*kDomains[])() = {atenMeanings, c10dMeanings, mindsporeMeanings};
constexpr std::string_view kOnnx = "onnx";

// As core::AttributeDoc::type says it; nullopt: it cannot be that. A flag is an int with us.
std::optional<AttributeValue> ofType(const AttributeValue& value, std::string_view type) {
  static constexpr std::string_view kTypes[] = {"int", "float", "string", "ints"};  // the variant's order
  if (value.index() < std::size(kTypes) && kTypes[value.index()] == type) return value;
  const bool* flag = std::get_if<bool>(&value);
  if (!flag || type != "int") return std::nullopt;
  return AttributeValue(std::int64_t{*flag});
}

// Only what our operator has: who reads an attribute may rely on its type.
Attributes translated(const Attributes& theirs, const Meaning& meaning, const core::OpDef& op) {
  Attributes ours;
  for (const auto& [name, value] : theirs) {
    const auto renamed =
        std::ranges::find(meaning.attributes, name, [](const auto& pair) { return pair.first; });
    const std::string_view called =
        renamed == meaning.attributes.end() ? std::string_view(name) : renamed->second;
    const auto doc = std::ranges::find(op.attributes, called, &core::AttributeDoc::name);
    if (doc == op.attributes.end()) continue;
    if (const auto own = ofType(value, doc->type)) ours.emplace(called, *own);
  }
  return ours;
}

std::vector<core::TensorId> translated(const std::vector<core::TensorId>& theirs, const Meaning& meaning) {
  if (meaning.operands.empty()) return theirs;
  std::vector<core::TensorId> ours;
  for (const int from : meaning.operands)
    if (static_cast<std::size_t>(from) < theirs.size())
      ours.push_back(theirs[static_cast<std::size_t>(from)]);
  return ours;
}

// What says with whom it is done means the same everywhere.
Attributes withWhom(const Node& node) {
  Attributes kept;
  if (node.phase != core::Phase::kCollective) return kept;
  for (const std::string_view name : kTogetherAttributes)
    if (const auto found = node.attributes.find(name); found != node.attributes.end()) kept.insert(*found);
  return kept;
}

Node translatedNode(Node node) {
  Attributes kept = withWhom(node);
  const Meaning* meaning = meaningOf(node);
  const core::OpDef* op = meaning ? core::findOp(meaning->op) : nullptr;
  std::vector<core::TensorId> inputs = op ? translated(node.inputs, *meaning) : node.inputs;
  if (!op || inputs.size() < op->minInputs || inputs.size() > op->maxInputs) {
    node.opType = core::qualifiedType(node);
    node.attributes = std::move(kept);
    return node;
  }
  node.attributes = translated(node.attributes, *meaning, *op);
  node.attributes.merge(kept);
  node.inputs = std::move(inputs);
  node.opType = meaning->op;
  return node;
}

}  // namespace

const Meaning* meaningOf(const Node& node) {
  const std::string_view type = core::plainType(node);
  for (const auto domain : kDomains) {
    if (domain().domain != node.domain) continue;
    const std::span<const Meaning> meanings = domain().meanings();
    const auto found = std::ranges::find(meanings, type, &Meaning::type);
    const bool known = found != meanings.end() && (!found->applies || found->applies(node));
    return known ? &*found : nullptr;
  }
  if (node.domain != kOnnx) return nullptr;
  static const std::vector<Meaning> own = [] {
    std::vector<Meaning> all;
    for (const core::OpDef& op : core::allOps()) all.push_back({.type = op.name, .op = op.name});
    return all;
  }();
  const auto found = std::ranges::find(own, type, &Meaning::type);
  return found == own.end() ? nullptr : &*found;
}

bool hasForeignNodes(const core::Graph& graph) { return !std::ranges::all_of(graph.nodes(), &Node::isOwn); }

Node inOurTerms(const Node& node) { return node.isOwn() ? node : translatedNode(node); }

core::Graph inOurTerms(const core::Graph& graph) {
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) nodes.push_back(inOurTerms(node));
  return core::Graph::fromTables(graph.name(), graph.floatingDType(), graph.version(), std::move(nodes),
                                 {graph.tensors().begin(), graph.tensors().end()},
                                 {graph.frames().begin(), graph.frames().end()},
                                 {graph.kernels().begin(), graph.kernels().end()});
}

}  // namespace msdbg::watch
