#include "watchpoints/meaning/meaning.h"

#include <algorithm>

#include "core_engine/graph/graph_text.h"
#include "core_engine/ops/op.h"
#include "watchpoints/meaning/fits.h"
#include "watchpoints/step.h"

namespace msdbg::watch {
namespace {

using core::Attributes;
using core::AttributeValue;
using core::Node;

constexpr DomainMeanings (*kDomains[])() = {atenMeanings, autogradMeanings, c10dMeanings, mindsporeMeanings,
                                            torchModuleMeanings};
constexpr std::string_view kOnnx = "onnx";

// As core::AttributeDoc::type says it; nullopt: it cannot be that. A flag is an int with us; one axis is a
// list of one, and a whole number does where a real one is wanted.
std::optional<AttributeValue> ofType(const AttributeValue& value, std::string_view type) {
  static constexpr std::string_view kTypes[] = {"int", "float", "string", "ints"};  // the variant's order
  if (value.index() < std::size(kTypes) && kTypes[value.index()] == type) return value;
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole && type == "ints") return AttributeValue(std::vector{*whole});
  if (whole && type == "float") return AttributeValue(static_cast<double>(*whole));
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

// What says with whom it is done, which infinities are meant and what values told means the same everywhere.
Attributes kept(const Node& node) {
  Attributes same;
  const auto keep = [&](std::string_view name) {
    if (const auto found = node.attributes.find(name); found != node.attributes.end()) same.insert(*found);
  };
  keep(kMeantInfinity);
  keep(kMeantPositiveInfinity);
  std::ranges::for_each(fact::kAll, keep);
  if (node.phase == core::Phase::kCollective) std::ranges::for_each(kTogetherAttributes, keep);
  return same;
}

const DomainMeanings* domainOf(const Node& node) {
  static const std::vector<DomainMeanings> known = [] {
    std::vector<DomainMeanings> all;
    for (const auto domain : kDomains) all.push_back(domain());
    return all;
  }();
  const auto found = std::ranges::find(known, node.domain, &DomainMeanings::domain);
  return found == known.end() ? nullptr : &*found;
}

/// nullopt: our operator has no such number of inputs.
std::optional<Node> translatedAs(const Meaning& meaning, Node node) {
  const core::OpDef* op = core::findOp(meaning.op);
  std::vector<core::TensorId> inputs = op ? translated(node.inputs, meaning) : node.inputs;
  if (!op || inputs.size() < op->minInputs || inputs.size() > op->maxInputs) return std::nullopt;
  Attributes same = kept(node);
  node.attributes = translated(node.attributes, meaning, *op);
  node.attributes.insert(meaning.fixed.begin(), meaning.fixed.end());
  node.attributes.merge(same);
  node.inputs = std::move(inputs);
  if (!meaning.results.empty() && meaning.results.size() == node.outputs.size()) {
    const std::vector<core::TensorId> theirs = node.outputs;
    for (std::size_t i = 0; i < theirs.size(); ++i)
      node.outputs[i] = theirs[static_cast<std::size_t>(meaning.results[i])];
  }
  node.opType = meaning.op;
  return node;
}

Node called(Node node) {
  node.opType = core::qualifiedType(node);
  return node;
}

/// In place, of a tensor that is shown flat: a part of a storage was written (the gates of an LSTM), and the
/// output is all of it.
bool writesPart(const core::Graph& graph, const Node& node) {
  const std::string_view type = std::string_view(node.opType).substr(0, node.opType.find('.'));
  if (type.size() < 2 || !type.ends_with('_') || node.outputs.empty()) return false;
  const core::Shape& shape = graph.tensor(node.outputs.front()).shape;
  return node.phase == core::Phase::kForward && shape.rank() == 1 && shape[0] != 1;
}

Node inOurTerms(const core::Graph& graph, const Node& node) {
  if (node.isOwn()) return node;
  const Meaning* meaning = meaningOf(node);
  if (!meaning || meaning->onlyBlame) return called(node);
  std::optional<Node> ours = translatedAs(*meaning, node);
  if (!ours) return called(node);
  const DomainMeanings* domain = domainOf(node);
  if (domain && domain->foldsViews && writesPart(graph, node)) return called(node);
  const bool fits = meaning->fits                  ? meaning->fits(graph, node, *ours)
                    : domain && domain->foldsViews ? shapesAreInferred(graph, *ours)
                                                   : true;
  return fits ? std::move(*ours) : called(node);
}

}  // namespace

const Meaning* meaningOf(const Node& node) {
  const std::string_view type = core::plainType(node);
  if (const DomainMeanings* domain = domainOf(node)) {
    const std::span<const Meaning> meanings = domain->meanings();
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

Node inOurTerms(const Node& node) {
  const Meaning* meaning = node.isOwn() ? nullptr : meaningOf(node);
  if (node.isOwn() || !meaning || meaning->onlyBlame) return node.isOwn() ? node : called(node);
  std::optional<Node> ours = translatedAs(*meaning, node);
  return ours ? std::move(*ours) : called(node);
}

Node inOurTermsAs(const Node& translated, Node node) {
  const Meaning* meaning = translated.isOwn() ? nullptr : meaningOf(node);
  if (!meaning || translated.opType != meaning->op) return called(std::move(node));
  std::optional<Node> ours = translatedAs(*meaning, node);
  if (!ours) return called(std::move(node));
  for (const auto& [name, value] : translated.attributes) ours->attributes.emplace(name, value);
  return std::move(*ours);
}

Node asBlamed(Node node) {
  const std::string prefix = node.domain + ".";
  if (node.isOwn() || !node.opType.starts_with(prefix)) return node;
  Node theirs = node;
  theirs.opType.erase(0, prefix.size());
  const Meaning* meaning = meaningOf(theirs);
  std::optional<Node> ours = meaning ? translatedAs(*meaning, std::move(theirs)) : std::nullopt;
  return ours ? std::move(*ours) : node;
}

core::Graph inOurTerms(const core::Graph& graph) {
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) nodes.push_back(inOurTerms(graph, node));
  return core::Graph::fromTables(graph.name(), graph.floatingDType(), graph.version(), std::move(nodes),
                                 {graph.tensors().begin(), graph.tensors().end()},
                                 {graph.frames().begin(), graph.frames().end()},
                                 {graph.kernels().begin(), graph.kernels().end()});
}

}  // namespace msdbg::watch
