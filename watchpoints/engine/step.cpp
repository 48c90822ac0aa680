#include "watchpoints/step.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace msdbg::watch {

using core::NodeId;
using core::Rank;

namespace {

struct Named {
  std::string_view type;
  Together together;
};
constexpr std::array kTogether = {
    // torch.distributed: c10d and its functional forms; MindSpore
    Named{"send", Together::kSend},       Named{"isend", Together::kSend},
    Named{"recv", Together::kReceive},    Named{"irecv", Together::kReceive},
    Named{"recv_", Together::kReceive},   Named{"Send", Together::kSend},
    Named{"Receive", Together::kReceive},
};

std::vector<std::int64_t> ranksIn(const core::Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  const auto* ranks =
      found == attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
  return ranks ? *ranks : std::vector<std::int64_t>();
}

std::optional<std::int64_t> numberIn(const core::Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  const auto* number = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return number ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::optional<Together> togetherOf(const core::Node& node) {
  if (node.phase != core::Phase::kCollective) return std::nullopt;
  std::string_view type = node.opType;
  if (type.starts_with(node.domain + ".")) type.remove_prefix(node.domain.size() + 1);  // see inOurTerms()
  type = type.substr(0, type.find('.'));
  const auto known = std::ranges::find(kTogether, type, &Named::type);
  return known == kTogether.end() ? Together::kGroup : known->together;
}

/// Walks over the nodes of all ranks as they would be computed. Ranks that wait for each other in vain (the
/// recording of one is cut short, or their programs disagree) go on alone, the first of them first.
class Step::Clocks {
 public:
  Clocks(Step& step) : m_step(step) {
    for (const auto& [rank, part] : step.m_parts) {
      Walker& walker = m_walkers.emplace_back();
      walker.rank = rank;
      walker.part = part;
      walker.count = part ? part->nodeCount() : static_cast<std::int64_t>(step.m_graph.nodes().size());
      walker.times = &step.m_times[rank];
      walker.times->resize(static_cast<std::size_t>(walker.count));
    }
  }

  void run() {
    while (true) {
      bool moved = false, waits = false;
      for (Walker& walker : m_walkers) {
        while (goOn(walker, false)) moved = true;
        waits = waits || walker.next < walker.count;
      }
      if (!waits) return;
      if (moved) continue;
      for (Walker& walker : m_walkers)
        if (walker.next < walker.count && goOn(walker, true)) break;
    }
  }

 private:
  /// Kind, ranks (none: all; of what is sent: from, to), call.
  using Key = std::tuple<Together, std::vector<std::int64_t>, std::int64_t>;
  struct Walker {
    Rank rank;
    const core::GraphPart* part = nullptr;
    std::int64_t next = 0, count = 0, time = 0;
    std::vector<std::int64_t>* times = nullptr;
    std::map<std::pair<Together, std::vector<std::int64_t>>, std::int64_t> calls;
    std::optional<Key> waitsFor;  // of the node that is next
  };

  NodeId nodeOf(const Walker& walker) const {
    return walker.part ? walker.part->nodeAt(walker.next) : NodeId(walker.next);
  }

  void pass(Walker& walker) {
    (*walker.times)[static_cast<std::size_t>(walker.next++)] = walker.time++;
    walker.waitsFor.reset();
  }

  Key keyOf(Walker& walker, const core::Node& node, Together how) const {
    const core::Attributes& attributes =
        walker.part ? walker.part->attributes(m_step.m_graph, node.id) : node.attributes;
    const std::int64_t peer = numberIn(attributes, "peer").value_or(-1), own = walker.rank.value;
    std::vector<std::int64_t> ranks = how == Together::kSend      ? std::vector{own, peer}
                                      : how == Together::kReceive ? std::vector{peer, own}
                                                                  : ranksIn(attributes, "group");
    if (how == Together::kGroup) std::ranges::sort(ranks);
    if (how == Together::kGroup && static_cast<int>(ranks.size()) == m_step.m_rankCount) ranks.clear();
    const std::int64_t counted = walker.calls[{how, ranks}]++;
    return {how == Together::kReceive ? Together::kSend : how, std::move(ranks),
            numberIn(attributes, "call").value_or(counted)};
  }

  /// False: at its end, or it waits.
  bool goOn(Walker& walker, bool alone) {
    if (walker.next == walker.count) return false;
    const core::Node& node = m_step.m_graph.node(nodeOf(walker));
    const std::optional<Together> how = togetherOf(node);
    if (!how) return pass(walker), true;
    if (!walker.waitsFor) walker.waitsFor = keyOf(walker, node, *how);
    if (*how == Together::kSend) {
      m_sent.try_emplace(*walker.waitsFor, Sent{{walker.rank, node.id}, walker.time});
      return pass(walker), true;
    }
    return *how == Together::kReceive ? receive(walker, node.id, alone) : meet(walker, node.id, alone);
  }

  bool receive(Walker& walker, NodeId node, bool alone) {
    const auto sent = m_sent.find(*walker.waitsFor);
    if (sent == m_sent.end() && !alone) return false;
    if (sent != m_sent.end()) {
      m_step.m_meetings[{walker.rank, node}] = {{sent->second.call}, true};
      walker.time = std::max(walker.time, sent->second.time + 1);
    }
    return pass(walker), true;
  }

  bool meet(Walker& walker, NodeId node, bool alone) {
    if (alone) {
      m_step.m_meetings[{walker.rank, node}] = {{{walker.rank, node}}, false};
      return pass(walker), true;
    }
    const std::vector<std::int64_t>& ranks = std::get<1>(*walker.waitsFor);
    std::vector<Walker*> here;
    for (Walker& each : m_walkers) {
      if (!ranks.empty() && !std::ranges::binary_search(ranks, each.rank.value) && &each != &walker) continue;
      if (each.waitsFor != walker.waitsFor) return false;
      here.push_back(&each);
    }
    Meeting meeting;
    std::int64_t time = 0;
    for (const Walker* each : here) {
      meeting.senders.push_back({each->rank, nodeOf(*each)});
      time = std::max(time, each->time);
    }
    meeting.complete =
        here.size() == (ranks.empty() ? static_cast<std::size_t>(m_step.m_rankCount) : ranks.size());
    for (Walker* each : here) {
      m_step.m_meetings[{each->rank, nodeOf(*each)}] = meeting;
      each->time = time;
      pass(*each);
    }
    return true;
  }

  struct Sent {
    Call call;
    std::int64_t time = 0;
  };
  Step& m_step;
  std::vector<Walker> m_walkers;  // by rank
  std::map<Key, Sent> m_sent;
};

Step::Step(const core::Graph& graph, Parts parts, int rankCount)
    : m_graph(graph), m_parts(std::move(parts)), m_rankCount(rankCount) {
  m_whole = std::ranges::all_of(m_parts, [](const auto& each) { return each.second == nullptr; });
  m_alike =
      std::ranges::all_of(m_parts, [&](const auto& each) { return each.second == m_parts.front().second; });
  if (!m_alike) Clocks(*this).run();
}

const core::GraphPart* const* Step::partOf(Rank rank) const {
  const auto found = std::ranges::lower_bound(m_parts, rank, {}, &Parts::value_type::first);
  return found == m_parts.end() || found->first != rank ? nullptr : &found->second;
}

std::int64_t Step::time(Rank rank, NodeId node) const {
  const core::GraphPart* const* part = partOf(rank);
  if (!node.valid()) return -1;
  const std::int64_t order = part && *part ? (*part)->order(node) : node.value;
  if (m_alike || order < 0) return order;
  const auto times = m_times.find(rank);
  return times == m_times.end() ? order : times->second.at(static_cast<std::size_t>(order));
}

Step::Meeting Step::meeting(Rank rank, NodeId node) const {
  if (!m_alike) {
    const auto found = m_meetings.find({rank, node});
    return found == m_meetings.end() ? Meeting() : found->second;
  }
  if (time(rank, node) < 0) return {};
  const std::vector<std::int64_t> group = ranksIn(m_graph.node(node).attributes, "group");
  Meeting meeting;
  for (const auto& [each, part] : m_parts)
    if (group.empty() || std::ranges::count(group, each.value) > 0) meeting.senders.push_back({each, node});
  meeting.complete =
      meeting.senders.size() == (group.empty() ? static_cast<std::size_t>(m_rankCount) : group.size());
  return meeting;
}

const Step& Steps::at(core::Iteration iteration) {
  if (m_step && iteration == m_now) return *m_step;
  Step::Parts parts;
  for (const Rank rank : m_ranks) parts.emplace_back(rank, m_source.part(rank, iteration));
  m_now = iteration;
  if (m_step && m_step->m_parts == parts) return *m_step;
  std::ranges::sort(parts);
  std::unique_ptr<Step>& step = m_steps[parts];
  if (!step) step.reset(new Step(m_source.graph(), std::move(parts), m_source.rankCount()));
  m_step = step.get();
  return *m_step;
}

std::span<const core::TensorId> inputsOf(const Source& source, Rank rank, core::Iteration iteration,
                                         const core::Node& node) {
  const core::GraphPart* part = source.part(rank, iteration);
  return part ? part->inputs(source.graph(), node.id) : node.inputs;
}

core::Node nodeOn(const Source& source, Rank rank, core::Iteration iteration, const core::Node& node) {
  core::Node here = node;
  if (const core::GraphPart* part = source.part(rank, iteration)) {
    const std::span<const core::TensorId> inputs = part->inputs(source.graph(), node.id);
    here.inputs.assign(inputs.begin(), inputs.end());
    here.attributes = part->attributes(source.graph(), node.id);
  }
  return here;
}

}  // namespace msdbg::watch
