#include "watchpoints/conditions/marks.h"

#include "watchpoints/conditions/rows.h"

namespace msdbg::watch {
namespace {

using FindingOf = Finding (*)(const EvaluationContext&, const core::Node&);

class AtMarks : public Evaluator {
 public:
  AtMarks(const core::Graph& graph, std::string_view type, FindingOf findingOf) : m_findingOf(findingOf) {
    for (const core::Node& node : graph.nodes())
      if (node.opType == type) m_marks.push_back(node.id);
  }

  void evaluate(EvaluationContext& context) override {
    if (context.ranks.empty()) return;
    std::erase_if(m_marks, [&](core::NodeId id) {
      const core::Node& node = context.graph().node(id);
      ++context.evaluated;
      if (!context.rows.now(context.ranks.front(), node.outputs.front())) return false;
      context.findings.push_back(m_findingOf(context, node));
      return true;
    });
  }

 private:
  FindingOf m_findingOf;
  std::vector<core::NodeId> m_marks;
};

}  // namespace

std::unique_ptr<Evaluator> atMarks(const core::Graph& graph, std::string_view type, FindingOf findingOf) {
  return std::make_unique<AtMarks>(graph, type, findingOf);
}

}  // namespace msdbg::watch
