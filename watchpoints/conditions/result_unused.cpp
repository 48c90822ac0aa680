// What a program computes and nobody reads: of parameters, in the shape of one (`t = m * t + (1 - m) * o`
// gives a local name another value, and no parameter), and of the steps of a sequence all but the last.
#include <algorithm>
#include <map>
#include <set>

#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/meaning/wording.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::TensorId;

/// Of these parameters alone; empty: of something else too. Numbers have no dimension.
std::vector<TensorId> parametersOf(const Graph& graph, TensorId tensor) {
  const std::vector<bool> parts = partsOf(graph, tensor);
  std::vector<TensorId> found;
  for (const core::TensorInfo& info : graph.tensors()) {
    if (!parts[info.id.index()] || !info.isSource() || info.shape.rank() == 0) continue;
    if (info.role != core::TensorRole::kParameter) return {};
    found.push_back(info.id);
  }
  return found;
}

bool isDiscardedSum(const Graph& graph, const Node& node) {
  static constexpr auto kSums =
      std::to_array<std::string_view>({"Add", "Sub", "aten.add", "aten.sub", "aten.lerp"});
  const bool inPlace = node.name.find("_-op") != node.name.npos;
  return isOneOf(&node, kSums) && !inPlace && node.phase != core::Phase::kBackward &&
         node.inputs.size() > 1 && node.outputs.size() == 1 && graph.consumers(node.outputs[0]).empty() &&
         graph.tensor(node.outputs[0]).role != core::TensorRole::kLoss &&
         !graph.tensor(node.outputs[0]).updateOf.valid();
}

/// Results of one line of a loop, in their order.
using Results = std::vector<const Node*>;

/// Of our engine's forward pass, by line, operator and shape.
std::map<std::string, Results> resultsByLine(const Graph& graph) {
  std::map<std::string, Results> results;
  for (const Node& node : graph.nodes()) {
    const core::Frame* line = node.isOwn() ? graph.userFrame(node.frames) : nullptr;
    if (node.phase != core::Phase::kForward || !line || node.outputs.size() != 1) continue;
    results[line->file + ":" + std::to_string(line->line) + " " + node.opType + " " +
            graph.tensor(node.outputs[0]).shape.text()]
        .push_back(&node);
  }
  return results;
}

/// The tensor that all of them are made of a slice of, each of another one; invalid: there is none such.
TensorId sequenceOf(const Graph& graph, const Results& results) {
  std::set<TensorId> sequences, slices;
  for (const Node* result : results) {
    const std::vector<bool> parts = partsOf(graph, result->outputs[0]);
    std::size_t own = 0;
    for (const Node& node : graph.nodes())
      if (node.opType == "Slice" && parts[node.outputs[0].index()]) {
        sequences.insert(node.inputs[0]);
        slices.insert(node.outputs[0]);
        ++own;
      }
    if (own != 1) return {};
  }
  return sequences.size() == 1 && slices.size() == results.size() ? *sequences.begin() : TensorId();
}

/// All steps of a sequence give something, and what the last one gives is all that is read: a state that is
/// not carried on.
void askForLostSteps(EvaluationContext& context) {
  constexpr std::size_t kLeast = 3;  // steps
  const Graph& graph = context.graph();
  const auto isRead = [&](const Node* node) {  // by the program itself too
    return !graph.consumers(node->outputs[0]).empty() || graph.tensor(node->outputs[0]).kept;
  };
  for (const auto& [line, results] : resultsByLine(graph)) {
    if (results.size() < kLeast || !isRead(results.back())) continue;
    if (std::ranges::count_if(results, isRead) != 1) continue;
    const TensorId sequence = sequenceOf(graph, {results.begin(), results.begin() + kLeast});
    if (!sequence.valid()) continue;
    Finding finding =
        findingAtNode(context, results.front()->id,
                      "of " + std::to_string(results.size()) + " steps over " + graph.tensor(sequence).name +
                          " what the last one gives is read, what the others give is read by nothing: no "
                          "step goes on from the "
                          "one before, and the sequence is its last slice");
    finding.advice = "Give each step the state that the step before returned: h = cell(x, h).";
    return context.findings.push_back(std::move(finding));
  }
}

class ResultUnused : public Evaluator {
 public:
  explicit ResultUnused(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (!isDiscardedSum(graph, node)) continue;
      const core::Shape& shape = graph.tensor(node.outputs[0]).shape;
      if (shape.rank() == 0 || parametersOf(graph, node.outputs[0]).size() < 2) continue;
      const std::vector<TensorId> first = parametersOf(graph, node.inputs[0]);  // t, of m * t + (1 - m) * o
      const auto target =
          std::ranges::find_if(first, [&](TensorId p) { return graph.tensor(p).shape == shape; });
      if (target != first.end()) m_results.push_back({node.id, *target});
    }
    for (const core::TensorInfo& info : graph.tensors())
      if (info.isSource() && info.role == core::TensorRole::kParameter) m_parameters.push_back(info.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (m_results.empty() || context.ranks.empty()) return;
    const core::Rank rank = context.ranks.front();
    std::set<std::pair<std::uint64_t, std::uint64_t>>
        now;  // a result may become a parameter: p.data = result
    for (const TensorId parameter : m_parameters)
      if (const StatisticsRow* row = context.rows.now(rank, parameter))
        now.insert({row->values.hash.high, row->values.hash.low});
    for (Result& result : m_results) {
      if (result.iterations > 0 && now.contains(result.hash)) result.used = true;
      const StatisticsRow* row = context.rows.now(rank, context.graph().node(result.node).outputs[0]);
      if (!row) continue;
      ++context.evaluated;
      if (result.iterations++ == 0) result.first = context.iteration;
      result.hash = {row->values.hash.high, row->values.hash.low};
    }
  }

  void finish(EvaluationContext& context) override {
    std::erase_if(m_results, [](const Result& result) { return result.used || result.iterations < kLeast; });
    if (m_results.empty()) return;
    const Graph& graph = context.graph();
    const Result& result = m_results.front();
    Finding finding = findingAtNode(
        context, result.node,
        "what it computes of " + graph.tensor(result.target).name + " and another parameter" +
            (m_results.size() > 1 ? ", as " + std::to_string(m_results.size() - 1) + " more do of others,"
                                  : "") +
            " is read by nothing: the name on the left is a new tensor, and the parameter stays as it is");
    finding.iteration = result.first;
    context.findings.push_back(std::move(finding));
  }

 private:
  static constexpr std::int64_t kLeast = 3;  // iterations
  struct Result {
    core::NodeId node;
    TensorId target;
    std::int64_t iterations = 0;
    core::Iteration first = {};
    std::pair<std::uint64_t, std::uint64_t> hash = {};
    bool used = false;
  };
  std::vector<Result> m_results;
  std::vector<TensorId> m_parameters;
};

}  // namespace

ConditionDef resultUnusedCondition() {
  ConditionDef def;
  def.id = "result_unused";
  def.title = "Computed, and used nowhere";
  def.doc =
      "Of PyTorch: a sum or difference of parameters alone, in the shape of one of them, that nothing reads "
      "and that is no parameter's next value, in three iterations or more: an average of weights that is "
      "given to a local name. Of our engine, from the graph: one line of a loop computes something of each "
      "of "
      "three slices of a tensor and more, and only what the last one gives is read.";
  def.advice =
      "Write into the parameter: with torch.no_grad(): t.lerp_(o, 1 - m), or t.copy_(m * t + (1 - m) * o).";
  def.target = Target::kWeight;
  def.rowsOnly = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    if (!isOfTorch(graph)) return onceOfGraph(askForLostSteps);
    return std::make_unique<ResultUnused>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
