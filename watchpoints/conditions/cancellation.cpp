// Differences of numbers that are equal but for rounding, made large again: a finite difference with too
// small a step.
#include <cmath>
#include <limits>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// A difference, and the operator that multiplies it.
struct Magnified {
  NodeId difference, by;
  std::vector<TensorId> terms;
  double factor;
};

/// What the operator multiplies its first input by; 0: it does not, or not by a constant.
double factorOf(const Graph& graph, const Node& node) {
  if (node.opType != "Mul" && node.opType != "Div") return 0;
  const double constant = std::abs(constantOf(graph, node.inputs[1]).value_or(0));
  return node.opType == "Mul" || constant == 0 ? constant : 1 / constant;
}

std::vector<Magnified> magnified(const Graph& graph) {
  constexpr double kLarge = 1e4;
  std::vector<Magnified> all;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.inputs.size() != 2) continue;
    const double factor = factorOf(graph, node);
    const Node* sum = factor >= kLarge ? makerOf(graph, node.inputs[0]) : nullptr;
    if (sum && (sum->opType == "Sub" || sum->opType == "Add") &&
        graph.tensor(sum->outputs.front()).dtype == core::DType::Float32)
      all.push_back({sum->id, node.id, sum->inputs, factor});
  }
  return all;
}

class Cancellation : public Evaluator {
 public:
  explicit Cancellation(const Graph& graph) : m_all(magnified(graph)) {}

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    for (const Magnified& each : m_all) {
      ++context.evaluated;
      if (!lookAt(context, each)) continue;
      m_all.clear();  // what follows is made alike
      return;
    }
  }

 private:
  static bool lookAt(EvaluationContext& context, const Magnified& each) {
    constexpr double kSteps = 16;  // of rounding: two digits at most are no noise
    const TensorId difference = context.graph().node(each.difference).outputs.front();
    const core::Rank rank = context.rankWith(difference);
    double terms = 0;
    for (const TensorId term : each.terms) {
      const StatisticsRow* row = context.rows.now(rank, term);
      if (!row || row->values.nonFinite() > 0) return false;
      terms = std::max(terms, row->values.meanAbs);
    }
    const StatisticsRow* row = context.rows.now(rank, difference);
    const double step = terms * std::numeric_limits<float>::epsilon() / 2;
    if (!row || row->values.nonFinite() > 0 || terms == 0 || row->values.meanAbs > kSteps * step)
      return false;
    Finding finding =
        findingAt(context, {context.iteration, rank, context.graph().node(each.by).outputs.front()},
                  precedence::kStructure);
    finding.actual = row->values.meanAbs;
    finding.preset = step;
    finding.detail = context.graph().tensor(difference).fullName() + " is a difference of numbers of " +
                     core::formatShort(terms) + " that is " + core::formatShort(row->values.meanAbs) +
                     ", about as much as float32 rounds them by (" + core::formatShort(step) +
                     "): it is rounding noise, and here it is made " + core::formatShort(each.factor) +
                     " times as large";
    context.findings.push_back(std::move(finding));
    return true;
  }

  std::vector<Magnified> m_all;
};

}  // namespace

ConditionDef cancellationCondition() {
  ConditionDef def;
  def.id = "cancellation";
  def.title = "Rounding noise made large";
  def.doc =
      "A sum or difference whose mean|x| is at most 16 rounding steps (2^-24) of its largest term, and which "
      "a constant then multiplies by 10,000 and more: a finite difference whose step is too small for "
      "float32.";
  def.advice =
      "Take a larger step: about 1e-3 for a first difference, 1e-2 for a second one, times the size of what "
      "is varied.";
  def.rowsOnly = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<Cancellation>(graph);
  };
  return def;
}

}  // namespace msdbg::watch
