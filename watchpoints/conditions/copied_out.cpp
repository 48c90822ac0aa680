#include "watchpoints/conditions/copied_out.h"

#include <map>

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Iteration;
using core::TensorId;
using core::TensorInfo;

/// How many elements and which bits.
using Bits = std::pair<std::int64_t, core::Hash128>;

class Search {
 public:
  explicit Search(EvaluationContext& context) : m_context(context), m_rank(context.ranks.front()) {
    for (const Iteration iteration : context.source.iterations(m_rank))
      if (m_iterations.size() < 2 && context.selected(iteration)) m_iterations.push_back(iteration);
  }

  std::optional<CopiedOut> find(const std::vector<bool>& parts, const std::vector<bool>& made) {
    const Graph& graph = m_context.graph();
    if (m_iterations.size() < 2) return std::nullopt;
    for (const TensorInfo& source : graph.tensors()) {
      const bool wanted = source.isSource() && source.role == core::TensorRole::kConstant &&
                          isFloating(source.dtype) && parts[source.id.index()];
      if (!wanted || !varies(source.id)) continue;
      for (const TensorInfo& original : graph.tensors())
        if (!original.isSource() && made[original.id.index()] && original.dtype == source.dtype &&
            isCopy(source.id, original.id))
          return CopiedOut{source.id, original.id, sentence(source, original)};
    }
    return std::nullopt;
  }

 private:
  std::optional<Bits> bitsOf(TensorId tensor, Iteration iteration) {
    const StatisticsRow* row = m_context.source.statistics(m_rank, iteration, tensor);
    return row ? std::optional(Bits{row->values.count, row->values.hash}) : std::nullopt;
  }

  bool varies(TensorId tensor) {
    const auto first = bitsOf(tensor, m_iterations[0]), second = bitsOf(tensor, m_iterations[1]);
    return first && second && *first != *second;
  }

  bool isCopy(TensorId source, TensorId original) {
    for (const Iteration iteration : m_iterations) {
      const auto copy = bitsOf(source, iteration);
      if (!copy || copy != bitsOf(original, iteration)) return false;
    }
    return true;
  }

  static std::string sentence(const TensorInfo& source, const TensorInfo& original) {
    return source.name + " holds the values of " + original.name +
           ", bit for bit, and is a new tensor: .item(), .tolist() or .numpy() took them out of the graph, "
           "and no gradient comes back";
  }

  EvaluationContext& m_context;
  core::Rank m_rank;
  std::vector<Iteration> m_iterations;
};

}  // namespace

std::optional<CopiedOut> copiedOut(EvaluationContext& context, const std::vector<bool>& parts,
                                   const std::vector<bool>& made) {
  if (context.ranks.empty()) return std::nullopt;
  return Search(context).find(parts, made);
}

}  // namespace msdbg::watch
