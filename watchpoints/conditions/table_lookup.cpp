// Tables whose rows are looked up by what the batch brings: one that is read by the index of another, and
// one whose indices end where a byte does.
#include <algorithm>
#include <map>

#include "core_engine/base/text.h"
#include "watchpoints/conditions/makers.h"
#include "watchpoints/conditions/rows.h"
#include "watchpoints/meaning/meaning.h"

namespace msdbg::watch {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

struct Lookup {
  NodeId node;
  TensorId table, index;
  std::int64_t rows;
};

/// Rows of parameters, by what chooses them.
std::vector<Lookup> allLookups(const Graph& graph) {
  std::vector<Lookup> all;
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.opType != "Gather" || node.inputs.size() < 2) continue;
    const core::TensorInfo& table = graph.tensor(node.inputs[0]);
    if (table.role == core::TensorRole::kParameter && table.shape.known() && table.shape.rank() > 0)
      all.push_back({node.id, table.id, node.inputs[1], table.shape[0]});
  }
  return all;
}

/// Those that are chosen by an input as it is.
std::vector<Lookup> lookups(const Graph& graph) {
  std::vector<Lookup> all = allLookups(graph);
  for (Lookup& each : all) each.index = originOf(graph, each.index);
  std::erase_if(all, [&](const Lookup& each) {
    return !isData(graph, each.index) || isFloating(graph.tensor(each.index).dtype);
  });
  return all;
}

/// Those that are chosen by what the graph makes of data: not by places, which are counted.
std::vector<Lookup> madeLookups(const Graph& graph) {
  std::vector<Lookup> all = allLookups(graph);
  std::erase_if(all, [&](const Lookup& each) {
    const std::vector<bool> parts = partsOf(graph, each.index);
    return std::ranges::none_of(graph.tensors(), [&](const core::TensorInfo& info) {
      return parts[info.id.index()] && isData(graph, info.id);
    });
  });
  return all;
}

/// One index for tables of different lengths, where another index reads tables as long as the odd one.
void checkMixedUp(EvaluationContext& context, const std::vector<Lookup>& all) {
  const Graph& graph = context.graph();
  for (const Lookup& odd : all) {
    const Lookup *usual = nullptr, *meant = nullptr;
    std::int64_t alike = 0, others = 0;
    for (const Lookup& each : all) {
      if (each.index == odd.index) (each.rows == odd.rows ? alike : others)++;
      if (each.index == odd.index && each.rows != odd.rows) usual = &each;
      if (each.index != odd.index && each.rows == odd.rows && each.table != odd.table) meant = &each;
    }
    if (!usual || !meant || alike > others) continue;
    const std::string index = graph.tensor(odd.index).name;
    context.findings.push_back(findingAtNode(
        context, odd.node,
        graph.tensor(odd.table).fullName() + " has " + std::to_string(odd.rows) +
            " rows and is looked up by " + index + ", which chooses from the " + std::to_string(usual->rows) +
            " of " + graph.tensor(usual->table).fullName() + "; " + graph.tensor(meant->index).name +
            " chooses from " + std::to_string(meant->rows) + " rows: was that meant?"));
    return;
  }
}

const Lookup* lookupOf(const Graph& graph, const std::vector<Lookup>& all, TensorId tensor) {
  const Node* maker = makerOf(graph, tensor);
  const auto found =
      std::ranges::find_if(all, [&](const Lookup& each) { return maker && each.node == maker->id; });
  return found == all.end() ? nullptr : &*found;
}

/// Rows of two tables that are multiplied, both chosen by one index, though another index chooses from as
/// many.
void checkProduct(EvaluationContext& context, const std::vector<Lookup>& all) {
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    if (node.phase != core::Phase::kForward || node.opType != "Mul") continue;
    const Lookup *a = lookupOf(graph, all, node.inputs[0]), *b = lookupOf(graph, all, node.inputs[1]);
    if (!a || !b || a->table == b->table || a->index != b->index) continue;
    const Lookup& later = a->node.value > b->node.value ? *a : *b;
    const auto meant = std::ranges::find_if(
        all, [&](const Lookup& each) { return each.index != later.index && each.rows == later.rows; });
    if (meant == all.end()) continue;
    context.findings.push_back(
        findingAtNode(context, later.node,
                      graph.tensor(a->table).fullName() + " and " + graph.tensor(b->table).fullName() +
                          " are both looked up by " + graph.tensor(later.index).name +
                          " and then multiplied: the product tells of that index alone; was " +
                          graph.tensor(meant->index).name + " meant for one of them?"));
    return;
  }
}

/// A hint: the recorder says that a row which is never trained is looked up, by one index a sample. Programs
/// that give it a place of each text at a time do so, many times in an iteration.
void checkPaddingRow(EvaluationContext& context) {
  constexpr std::ptrdiff_t kPlaces = 3;
  const Graph& graph = context.graph();
  for (const Node& node : graph.nodes()) {
    const double share = foreignAttribute(node, fact::kLooksUpPadding, 0.0);
    if (share <= 0 || node.inputs.empty()) continue;
    const TensorId table = node.inputs[0];
    const auto readsIt = [&](NodeId id) {
      const Node& reader = graph.node(id);
      return reader.phase == core::Phase::kForward && reader.opType == node.opType;
    };
    if (std::ranges::count_if(graph.consumers(table), readsIt) >= kPlaces) continue;
    const std::string row = std::to_string(foreignAttribute<std::int64_t>(node, fact::kPadding, 0));
    Finding finding = findingAtNode(
        context, node.id,
        core::formatShort(100 * share) + " % of the indices are " + row + ", the row that " +
            graph.tensor(table).name + " keeps for padding (padding_idx=" + row +
            "): its gradient is always zero, so that whatever is numbered " + row + " is never learnt");
    finding.severity = Severity::kHint;
    finding.advice = "Leave padding_idx away, or number what is looked up from 1 on.";
    return context.findings.push_back(std::move(finding));
  }
}

class TableLookup : public Evaluator {
 public:
  explicit TableLookup(const Graph& graph) : m_all(lookups(graph)), m_made(madeLookups(graph)) {
    for (const Lookup& each : m_all) m_reach.try_emplace(each.index);
    for (const Lookup& each : m_made) m_reach.try_emplace(each.index);
  }

  void evaluate(EvaluationContext& context) override {
    if (!m_begin.valid()) {
      m_begin = context.iteration;
      checkMixedUp(context, m_all);
      checkProduct(context, m_all);
      checkPaddingRow(context);
    }
    for (auto& [index, reach] : m_reach)
      for (const core::Rank rank : context.ranks)
        if (const StatisticsRow* row = context.rows.now(rank, index)) {
          ++context.evaluated;
          reach.add(row->values);
        }
  }

  void finish(EvaluationContext& context) override {
    addUnread(context);
    constexpr double kByte = 255, kLonger = 1.5;
    for (const Lookup& each : m_all) {
      const Reach& reach = m_reach.at(each.index);
      if (reach.most != kByte || static_cast<double>(each.rows) < kLonger * (kByte + 1)) continue;
      if (reach.times < 3 || 2 * reach.near < reach.times) continue;
      Finding finding =
          findingAt(context, {m_begin, context.allRanks.front(), each.index}, precedence::kStructure);
      finding.severity = Severity::kHint;
      finding.actual = kByte;
      finding.detail = "the indices end at 255, and reach near it again and again, while " +
                       context.graph().tensor(each.table).fullName() + " has " + std::to_string(each.rows) +
                       " rows: were they cut to 8 bits? No row from 256 on was ever read";
      finding.advice = "Look at the type that the indices have on their way to the batch.";
      context.findings.push_back(std::move(finding));
      return;
    }
  }

 private:
  /// How far the indices of the iterations reach.
  struct Reach {
    double most = 0;
    std::int64_t times = 0, lookups = 0,
                 near = 0;  // near: up to 240 and more, which the largest of many evenly cut ones is
    void add(const core::TensorStatistics& indices) {
      most = std::max(most, indices.max);
      ++times;
      lookups += indices.count;
      near += indices.max >= 240;
    }
  };

  /// A hint: of a table nothing but the first rows is ever read, though it was looked up often enough to meet
  /// all of them.
  void addUnread(EvaluationContext& context) const {
    constexpr double kFirst = 0.1;
    constexpr std::int64_t kRows = 20, kOften = 20;  // kOften: times the rows
    for (const Lookup& each : m_made) {
      const Reach& reach = m_reach.at(each.index);
      if (each.rows < kRows || reach.lookups < kOften * each.rows) continue;
      if (reach.most + 1 > kFirst * static_cast<double>(each.rows)) continue;
      Finding finding = findingAtNode(
          context, each.node,
          "of the " + std::to_string(each.rows) + " rows of " + context.graph().tensor(each.table).name +
              " no index of the " + std::to_string(reach.lookups) + " reaches beyond row " +
              core::formatShort(reach.most) + ": what made the indices may have scaled or cut them");
      finding.iteration = m_begin;
      finding.severity = Severity::kHint;
      finding.advice =
          "Look at what the indices are made of: a column that was scaled with the others, a cast to whole "
          "numbers too late.";
      return context.findings.push_back(std::move(finding));
    }
  }

  std::vector<Lookup> m_all, m_made;
  std::map<TensorId, Reach> m_reach;
  core::Iteration m_begin;
};

}  // namespace

ConditionDef tableLookupCondition() {
  ConditionDef def;
  def.id = "table_lookup";
  def.title = "A table is looked up wrongly";
  def.doc =
      "From the graph: an input looks up rows of two parameters of different lengths, and another input "
      "looks up rows of a table as long as the odd one; or rows of two parameters are multiplied, both "
      "chosen by one input, while another one chooses from as many rows. A hint: the largest index of all "
      "iterations is 255, most iterations reach 240, and the table is half as long again; or, of PyTorch, "
      "one "
      "index a sample looks up the row that is kept for padding; or indices that are made of data never "
      "leave "
      "the first tenth of a table's rows, in twenty times as many lookups as it has rows.";
  def.advice = "Read each table by the index that was counted for it.";
  def.rowsOnly = true;
  def.make = [](const Graph& graph, const Parameters&, bool) -> std::unique_ptr<Evaluator> {
    return std::make_unique<TableLookup>(graph);
  };
  def.notOnline = [](const Parameters&, bool) -> std::string { return "the end of the run decides it"; };
  return def;
}

}  // namespace msdbg::watch
