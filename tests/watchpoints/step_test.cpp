// What comes before what on several ranks, and who meets whom.
#include "watchpoints/step.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/support/sampling.h"

using namespace msdbg;
using namespace msdbg::watch;
using core::Iteration;
using core::NodeId;
using core::Rank;

namespace {

/// Ranks that compute one after the other what a test says; values are nobody's concern.
class Ranks : public Source {
 public:
  explicit Ranks(int ranks) : m_graphs(static_cast<std::size_t>(ranks), core::Graph("net")), m_count(ranks) {}

  NodeId compute(int rank) { return add(rank, "relu", core::Phase::kForward, {}); }
  NodeId meet(int rank, std::vector<std::int64_t> group = {}, const char* type = "allreduce_") {
    core::Attributes attributes;
    if (!group.empty()) attributes["group"] = std::move(group);
    return add(rank, type, core::Phase::kCollective, attributes);
  }
  NodeId send(int rank, int to) {
    return add(rank, "send", core::Phase::kCollective, {{"peer", std::int64_t{to}}});
  }
  NodeId receive(int rank, int from) {
    return add(rank, "recv_", core::Phase::kCollective, {{"peer", std::int64_t{from}}});
  }
  void setRankCount(int count) { m_count = count; }

  /// Ids from here on are the union's.
  void done() {
    m_union = std::make_unique<core::GraphUnion>(m_graphs[0]);
    for (std::size_t i = 1; i < m_graphs.size(); ++i) m_union->add(m_graphs[i]);
    m_steps = std::make_unique<Steps>(*this);
  }
  NodeId id(int rank, NodeId local) const {
    return m_union->part(static_cast<std::size_t>(rank)).nodeAt(local.value);
  }
  std::int64_t time(int rank, NodeId local) {
    return m_steps->at(Iteration(0)).time(Rank(rank), id(rank, local));
  }
  Step::Meeting meeting(int rank, NodeId local) {
    return m_steps->at(Iteration(0)).meeting(Rank(rank), id(rank, local));
  }

  const core::Graph& graph() const override { return m_union->graph(); }
  const core::GraphPart* part(Rank rank, Iteration) const override { return &m_union->part(rank.index()); }
  std::vector<Rank> ranks() const override {
    std::vector<Rank> all;
    for (std::size_t i = 0; i < m_graphs.size(); ++i) all.emplace_back(static_cast<std::int64_t>(i));
    return all;
  }
  int rankCount() const override { return m_count; }
  std::vector<Iteration> iterations(Rank) const override { return {Iteration(0)}; }
  const StatisticsRow* statistics(Rank, Iteration, core::TensorId) override { return nullptr; }
  core::Result<core::Tensor> value(Rank, Iteration, core::TensorId) override {
    return core::Error(core::ErrorCode::kUnavailable, "none");
  }
  bool stored(Rank, Iteration, core::TensorId) const override { return false; }
  std::optional<double> scalar(Rank, Iteration, const std::string&) override { return std::nullopt; }

 private:
  NodeId add(int rank, const char* type, core::Phase phase, const core::Attributes& attributes) {
    core::TensorInfo output;
    output.shape = {2};
    return m_graphs[static_cast<std::size_t>(rank)].addNode(type, "net", phase, {}, attributes, {output}, {},
                                                            {}, "aten");
  }
  std::vector<core::Graph> m_graphs;
  int m_count;
  std::unique_ptr<core::GraphUnion> m_union;
  std::unique_ptr<Steps> m_steps;
};

}  // namespace

TEST_CASE("What is received was sent before, however early the receiver begins") {
  Ranks run(3);
  const NodeId a0 = run.compute(0), a1 = run.compute(0), s0 = run.send(0, 1);
  const NodeId r1 = run.receive(1, 0), b = run.compute(1), s1 = run.send(1, 2);
  const NodeId r2 = run.receive(2, 1), c = run.compute(2);
  run.done();
  CHECK(run.time(0, a0) == 0);
  CHECK(run.time(0, a1) == 1);
  CHECK(run.time(0, s0) == 2);
  CHECK(run.time(1, r1) == 3);
  CHECK(run.time(1, b) == 4);
  CHECK(run.time(1, s1) == 5);
  CHECK(run.time(2, r2) == 6);
  CHECK(run.time(2, c) == 7);
  const Step::Meeting meeting = run.meeting(2, r2);
  REQUIRE(meeting.senders.size() == 1);
  CHECK(meeting.senders[0] == Step::Call{Rank(1), run.id(1, s1)});
  CHECK(meeting.complete);
}

TEST_CASE("A collective begins when all of its group are there; other groups go on") {
  Ranks run(4);
  const NodeId early = run.meet(0, {0, 1});
  run.compute(1), run.compute(1);
  const NodeId late = run.meet(1, {1, 0});  // the same group
  const NodeId other2 = run.meet(2, {2, 3}), other3 = run.meet(3, {2, 3});
  for (int rank = 0; rank < 4; ++rank) run.compute(rank);
  std::vector<NodeId> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back(run.meet(rank));
  run.done();
  CHECK(run.time(0, early) == 2);
  CHECK(run.time(1, late) == 2);
  CHECK(run.time(2, other2) == 0);
  CHECK(run.meeting(0, early).senders ==
        std::vector<Step::Call>{{Rank(0), run.id(0, early)}, {Rank(1), run.id(1, late)}});
  CHECK(run.meeting(3, other3).senders.size() == 2);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(run.time(rank, all[static_cast<std::size_t>(rank)]) == 4);
    CHECK(run.meeting(rank, all[static_cast<std::size_t>(rank)]).senders.size() == 4);
    CHECK(run.meeting(rank, all[static_cast<std::size_t>(rank)]).complete);
  }
}

TEST_CASE("Ranks that wait in vain go on alone, and what they wait for is not complete") {
  Ranks run(2);
  const NodeId unsent = run.receive(0, 1), alone = run.meet(0), after = run.compute(0);
  run.compute(1);
  run.done();
  CHECK(run.time(0, unsent) == 0);
  CHECK(run.time(0, after) == 2);
  CHECK(run.meeting(0, unsent).senders.empty());
  CHECK_FALSE(run.meeting(0, unsent).complete);
  CHECK_FALSE(run.meeting(0, alone).complete);
}

TEST_CASE("A collective with ranks that are not recorded is not complete") {
  Ranks run(2);
  run.setRankCount(3);
  const NodeId all0 = run.meet(0);
  run.compute(1);
  run.meet(1);
  const NodeId two = run.meet(0, {0, 1});
  run.meet(1, {0, 1});
  run.done();
  CHECK(run.meeting(0, all0).senders.size() == 2);
  CHECK_FALSE(run.meeting(0, all0).complete);
  CHECK(run.meeting(0, two).complete);
}

TEST_CASE("Ranks of one graph are timed by its order") {
  Ranks run(1);
  run.compute(0);
  const NodeId sum = run.meet(0), last = run.compute(0);
  run.done();
  CHECK(run.time(0, last) == 2);
  CHECK(run.time(0, NodeId(7)) == -1);
  CHECK(run.meeting(0, sum).senders.size() == 1);
}

TEST_CASE("Of any programs the time is the longest way to a node") {
  std::mt19937_64 random(test::drawnSeed("steps"));
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
  for (int round = 0; round < (test::testAll() ? 3000 : 200); ++round) {
    CAPTURE(round);
    const int ranks = draw(2, 5);
    Ranks run(ranks);
    // Written down as they happen: the longest way is known at once.
    struct Seen {
      int rank;
      NodeId node;
      std::int64_t time;
    };
    std::vector<Seen> all;
    std::vector<std::int64_t> clock(static_cast<std::size_t>(ranks));
    const auto at = [&](int rank) -> std::int64_t& { return clock[static_cast<std::size_t>(rank)]; };
    for (int event = draw(1, 40); event > 0; --event) {
      const int rank = draw(0, ranks - 1), other = (rank + draw(1, ranks - 1)) % ranks;
      switch (draw(0, 3)) {
        case 0: {
          const std::int64_t sent = at(rank)++;
          all.push_back({rank, run.send(rank, other), sent});
          at(other) = std::max(at(other), sent + 1);
          all.push_back({other, run.receive(other, rank), at(other)++});
          break;
        }
        case 1: {
          std::vector<std::int64_t> group;
          for (int each = 0; each < ranks; ++each)
            if (draw(0, 1) || each == rank) group.push_back(each);
          std::int64_t time = 0;
          for (const std::int64_t each : group) time = std::max(time, at(static_cast<int>(each)));
          for (const std::int64_t each : group) {
            all.push_back({static_cast<int>(each), run.meet(static_cast<int>(each), group), time});
            at(static_cast<int>(each)) = time + 1;
          }
          break;
        }
        default:
          all.push_back({rank, run.compute(rank), at(rank)++});
      }
    }
    run.done();
    for (const Seen& seen : all) CHECK(run.time(seen.rank, seen.node) == seen.time);
  }
}
