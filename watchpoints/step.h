// Step: what all ranks compute in one iteration, and what of it comes before what. Each rank computes its
// nodes in its graph's order; a collective begins when all of its ranks have come to it, and what is received
// was sent before. The time of a node is the least number above those of all that come before it (Lamport,
// "Time, Clocks, and the Ordering of Events in a Distributed System", 1978): of two nodes of which one can
// have caused the other, the cause has the lesser time. Where all ranks have the same graph it is the node's
// place in it. Not thread-safe.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core_engine/graph/graph_union.h"
#include "watchpoints/source.h"

namespace msdbg::watch {

/// The attributes that say with whom, see togetherOf().
inline constexpr std::array<std::string_view, 3> kTogetherAttributes = {"call", "group", "peer"};

/// How a node takes part in something that several ranks do together. Its attributes say with whom: `group`
/// (ints: ranks; none: all), `peer` (int: the rank that sends or receives), `call` (int: which call of its
/// kind, group and peer it is; else they are counted).
enum class Together { kGroup, kSend, kReceive };
/// nullopt: it computes alone. Known are the collectives of ours, of torch.distributed and of MindSpore;
/// what else has Phase::kCollective is one of a group.
std::optional<Together> togetherOf(const core::Node& node);

class Step {
 public:
  struct Call {
    core::Rank rank;
    core::NodeId node;
    auto operator<=>(const Call&) const = default;
  };

  /// Whose inputs the result of a collective on this rank is made of.
  struct Meeting {
    std::vector<Call> senders;  // by rank: of a group all that are recorded; of what is received the sender
    bool complete = false;      // there are no others
  };

  /// Every rank has all of the graph, in its order.
  bool whole() const { return m_whole; }
  /// -1: the rank does not have the node.
  std::int64_t time(core::Rank rank, core::NodeId node) const;
  Meeting meeting(core::Rank rank, core::NodeId node) const;

 private:
  friend class Steps;
  class Clocks;
  using Parts = std::vector<std::pair<core::Rank, const core::GraphPart*>>;  // by rank
  Step(const core::Graph& graph, Parts parts, int rankCount);
  const core::GraphPart* const* partOf(core::Rank rank) const;

  const core::Graph& m_graph;
  Parts m_parts;
  int m_rankCount;
  bool m_whole = true, m_alike = true;                      // all ranks have one graph; else:
  std::map<core::Rank, std::vector<std::int64_t>> m_times;  // by rank, by order
  std::map<Call, Meeting> m_meetings;
};

/// The steps of a source: those of equal parts are one. A step stays where it is.
class Steps {
 public:
  explicit Steps(const Source& source) : m_source(source), m_ranks(source.ranks()) {}
  const Step& at(core::Iteration iteration);
  const core::Graph& graph() const { return m_source.graph(); }

 private:
  const Source& m_source;
  std::vector<core::Rank> m_ranks;
  std::map<Step::Parts, std::unique_ptr<Step>> m_steps;  // walked by nobody: pointers order it
  core::Iteration m_now;
  const Step* m_step = nullptr;
};

/// What a node reads on a rank in an iteration.
std::span<const core::TensorId> inputsOf(const Source& source, core::Rank rank, core::Iteration iteration,
                                         const core::Node& node);

/// The same, with all else that may be its own there.
core::Node nodeOn(const Source& source, core::Rank rank, core::Iteration iteration, const core::Node& node);

}  // namespace msdbg::watch
