// Operators that only hand on the elements they are given: their output becomes a view, and what reads a view
// of the same shape reads the tensor itself.
//   b = Reshape(a)                                  ->  b = view of a
//   b = Transpose(a, perm), c = Transpose(b, back)  ->  c = view of a
//   b, c = Split(a, axis 0)                         ->  b, c = views of parts of a
//
// Only identities that hold for every bit pattern are here. x * 1, x / 1, x ^ 1, x + (-0.0) and x - 0 hold
// for all numbers, but make a signalling NaN quiet (a flipped bit may well have made one), and the constant
// may be replaced between iterations. x + 0 turns -0 into 0; so does a sum over one element, which starts
// from 0. x * 0, x - x, x / x are wrong for NaN and infinities; changing the order of a sum rounds
// differently.
#include <algorithm>
#include <map>

#include "core_engine/ops/op.h"
#include "core_engine/plan/node_facts.h"
#include "core_engine/plan/pipeline.h"

namespace msdbg::core {
namespace {

using Ints = std::vector<std::int64_t>;

const TensorInfo& inputOf(const Graph& graph, const Node& node) { return graph.tensor(node.inputs.front()); }
const TensorInfo& outputOf(const Graph& graph, const Node& node) {
  return graph.tensor(node.outputs.front());
}

Ints permutationOf(const Graph& graph, const Node& node) {
  const std::size_t rank = inputOf(graph, node).shape.rank();
  Ints reversed(rank);
  for (std::size_t d = 0; d < rank; ++d) reversed[d] = static_cast<std::int64_t>(rank - 1 - d);
  const Ints given = intsAttribute(node.attributes, "perm", {});
  return given.empty() ? reversed : given;
}

/// Whether a transposition leaves every element in its place: it moves dimensions of 1 only.
bool keepsPlaces(const Shape& shape, const Ints& perm) {
  Ints moved;
  for (const std::int64_t p : perm)
    if (shape[static_cast<std::size_t>(p)] != 1) moved.push_back(p);
  return std::ranges::is_sorted(moved);
}

bool allAre(const Ints& values, std::int64_t wanted) {
  return std::ranges::all_of(values, [&](std::int64_t v) { return v == wanted; });
}
bool sameShape(const Graph& graph, const Node& node) {
  return inputOf(graph, node).shape == outputOf(graph, node).shape;
}

/// The first elements of a Split's outputs, where each is a run of its input; empty: they are not. Kernels
/// may count on whole cache lines.
Ints partsOf(const Graph& graph, const Node& node) {
  if (node.outputs.size() == 1) return {0};
  const Shape& shape = inputOf(graph, node).shape;
  const auto axis = intAttribute(node.attributes, "axis", 0);
  const std::size_t split =
      static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.rank()) : axis);
  if (!allAre({shape.dims().begin(), shape.dims().begin() + static_cast<std::ptrdiff_t>(split)}, 1))
    return {};
  Ints starts;
  std::int64_t next = 0;
  for (const TensorId id : node.outputs) {
    if (next * static_cast<std::int64_t>(dtypeSize(graph.tensor(id).dtype)) % Tensor::kAlignment != 0)
      return {};
    starts.push_back(next);
    next += graph.tensor(id).shape.elements();
  }
  return starts;
}

// One row an operator: when its outputs are its first input, element by element, or parts of it.
struct Rule {
  std::string_view opType;
  bool (*holds)(const Graph& graph, const Node& node);
  const char* otherwise;  // why not
};

constexpr auto always = [](const Graph&, const Node&) { return true; };

constexpr Rule kRules[] = {
    {"Identity", always, ""},
    {"StopGradient", always, ""},
    {"Reshape", always, ""},
    {"Flatten", always, ""},
    {"Squeeze", always, ""},
    {"Unsqueeze", always, ""},
    {"Cast", [](const Graph& g, const Node& n) { return inputOf(g, n).dtype == outputOf(g, n).dtype; },
     "Cast changes the dtype"},
    {"Concat", [](const Graph&, const Node& n) { return n.inputs.size() == 1; },
     "Concat joins several tensors"},
    {"Expand", sameShape, "Expand repeats elements"},
    {"Pad", [](const Graph&, const Node& n) { return allAre(intsAttribute(n.attributes, "pads", {}), 0); },
     "Pad adds elements"},
    {"Slice",
     [](const Graph& g, const Node& n) {
       return sameShape(g, n) && allAre(intsAttribute(n.attributes, "steps", {}), 1);
     },
     "Slice drops or turns round elements"},
    {"Split", [](const Graph& g, const Node& n) { return !partsOf(g, n).empty(); },
     "Split takes elements apart that lie together, or not at whole cache lines"},
    {"Transpose",
     [](const Graph& g, const Node& n) { return keepsPlaces(inputOf(g, n).shape, permutationOf(g, n)); },
     "Transpose moves elements"},
};

const Rule* findRule(const Node& node) {
  const auto found = std::ranges::find(kRules, node.opType, &Rule::opType);
  return found == std::end(kRules) ? nullptr : found;
}

/// What two transpositions that undo each other began with; invalid where they do not.
TensorId beforeBothTransposes(const Graph& graph, const Plan& plan, const PlanStep& step) {
  const Node& second = graph.node(step.node);
  const TensorInfo& between = graph.tensor(step.inputs.front());
  if (second.opType != "Transpose" || between.isSource()) return {};
  const Node& first = graph.node(between.producer);
  const PlanStep& before = plan.steps[first.id.index()];
  if (first.opType != "Transpose" || before.how != How::kRun) return {};
  const Ints inner = permutationOf(graph, first), outer = permutationOf(graph, second);
  Ints both;
  for (const std::int64_t d : outer) both.push_back(inner[static_cast<std::size_t>(d)]);
  return keepsPlaces(inputOf(graph, first).shape, both) ? before.inputs.front() : TensorId();
}

class Rewrite {
 public:
  Rewrite(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes)
      : m_graph(graph), m_options(options), m_plan(plan), m_notes(notes) {}

  void run() {
    for (PlanStep& step : m_plan.steps) {
      for (TensorId& id : step.inputs) id = firstLike(id);
      if (const TensorId shared = sharedBy(step); shared.valid()) makeView(step, shared);
    }
    if (!m_notes.changes.empty())
      m_notes.summary = "views instead of copies: " + nodesText(m_notes.changes.size());
  }

 private:
  /// The first tensor met that has this one's elements, dtype and shape.
  TensorId firstLike(TensorId id) {
    const Region region = m_plan.regionOf(m_graph, id);
    if (m_graph.tensor(region.root).shape == m_graph.tensor(id).shape) return region.root;
    return m_first.try_emplace({region, m_graph.tensor(id).shape.text()}, id).first->second;
  }

  TensorId sharedBy(const PlanStep& step) {
    const Node& node = m_graph.node(step.node);
    const Rule* rule = findRule(node);
    if (!rule || step.how != How::kRun) return {};
    if (isPinned(m_options, node.id)) return refuse("a fault is planted there");
    if (!isFunctionOfInputs(m_graph, node)) return refuse("it writes the next value of a state");
    if (rule->holds(m_graph, node)) return step.inputs.front();
    const TensorId undone = beforeBothTransposes(m_graph, m_plan, step);
    return undone.valid() ? undone : refuse(rule->otherwise);
  }

  TensorId refuse(const char* why) {
    m_notes.refuse(why);
    return {};
  }

  void makeView(PlanStep& step, TensorId shared) {
    step.how = How::kView;
    step.inputs.clear();
    const Node& node = m_graph.node(step.node);
    step.shares.assign(node.outputs.size(), shared);
    if (node.outputs.size() > 1) step.starts = partsOf(m_graph, node);
    m_notes.changes.push_back(node.name + (step.starts.empty() ? " is a view of " : " has views of ") +
                              m_graph.tensor(shared).fullName());
  }

  const Graph& m_graph;
  const PlanOptions& m_options;
  Plan& m_plan;
  PassNotes& m_notes;
  std::map<std::pair<Region, std::string>, TensorId> m_first;
};

void run(const Graph& graph, const PlanOptions& options, Plan& plan, PassNotes& notes) {
  Rewrite(graph, options, plan, notes).run();
}

}  // namespace

PlanPass identitiesPass() {
  return {"identities", "operators that only hand on elements become views: nothing is copied", run};
}

}  // namespace msdbg::core
