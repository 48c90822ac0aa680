// Several nodes in one pass over memory: the team shares the elements, and each thread takes a part of them
// (2 KiB) through all members before the next. What only members read lies in a thread's own few tiles,
// unless somebody looks at it. Members that are not linked (updates of small parameters) share one fork and
// join of the team.
#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "core_engine/base/text.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_op.h"
#include "core_engine/runtime/update_watch.h"

namespace msdbg::core::cpu {
namespace {

// 256 to 1024 are alike; from 2048 on, four operands that lie alike in their pages no longer fit the sets of
// the first-level cache, and a group is slower than its members were apart (core_engine/PERFORMANCE.md).
constexpr std::int64_t kTileElements = 512;
constexpr std::size_t kMostInputs = 8;

using PartInputs = std::array<const float*, kMostInputs>;

bool readsAlong(const TileOp& op, std::size_t input) {
  return input < op.ports.along.size() && op.ports.along[input];
}

const float* inputAt(const TileOp& op, const KernelArgs& args, std::size_t input, std::int64_t begin) {
  const Tensor& tensor = *args.inputs[input];
  if (tensor.dtype() != DType::Float32) return nullptr;
  return tensor.data<float>().data() + (readsAlong(op, input) ? begin : 0);
}

void runPart(const TileOp& op, const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  PartInputs in = {};
  for (std::size_t i = 0; i < args.inputs.size(); ++i) in[i] = inputAt(op, args, i, begin);
  op.run({args, begin, end, std::span(in).first(args.inputs.size()),
          args.outputs[0]->data<float>().data() + begin});
}

/// f(begin, end) for each block of the watches between two bounds of blocks, and tells them.
template <typename F>
void overWatchedBlocks(std::span<const KernelArgs> members, std::int64_t begin, std::int64_t end,
                       const F& f) {
  constexpr std::int64_t kStep = UpdateWatch::kElements;
  for (std::int64_t at = begin; at < end; at += kStep) {
    for (const KernelArgs& args : members)
      if (args.watch) args.watch->beforeBlock(at / kStep);
    f(at, std::min(at + kStep, end));
    for (const KernelArgs& args : members)
      if (args.watch) args.watch->afterBlock(at / kStep);
  }
}

/// "Mul+Add+Softmax", "AdamUpdate*3"
std::string namesOf(const std::vector<std::string>& types) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < types.size();) {
    const auto last = std::find_if(types.begin() + static_cast<std::ptrdiff_t>(i), types.end(),
                                   [&](const std::string& type) { return type != types[i]; });
    const auto times = static_cast<std::size_t>(last - types.begin()) - i;
    names.push_back(types[i] + (times > 1 ? "*" + std::to_string(times) : ""));
    i += times;
  }
  return join(names, "+");
}

/// A thread's own tiles, each at a cache line.
class Scratch {
 public:
  Scratch(std::size_t tiles, std::int64_t elements)
      : m_linesOfTile(static_cast<std::size_t>(elements) / kLineElements + 2),
        m_lines(tiles * m_linesOfTile) {}
  float* tile(std::size_t i) { return m_lines[i * m_linesOfTile].elements.data(); }

 private:
  static constexpr std::size_t kLineElements = 16;
  struct alignas(64) Line {
    std::array<float, kLineElements> elements;
  };
  std::size_t
      m_linesOfTile;  // one more than needed: tiles a power of two apart would share lines of the cache
  std::vector<Line> m_lines;
};

class TileGroup : public GroupKernel {
 public:
  struct Member {
    TileOp op;
    std::vector<std::int64_t> links;
    bool inside;
    std::int64_t count;            // elements of its first output
    std::vector<bool> along = {};  // by input: it moves on with the parts
  };

  TileGroup(std::string name, std::vector<Member> members, int threads)
      : m_name(std::move(name)), m_members(std::move(members)), m_threads(threads) {
    const bool linked = std::ranges::any_of(m_members, [](const Member& m) {
      return std::ranges::any_of(m.links, [](std::int64_t link) { return link >= 0; });
    });
    for (std::size_t i = 0; i < m_members.size(); ++i)
      if (i == 0 || !linked) m_chains.push_back({i, i + 1, m_members[i].count, 1, 0});
    m_chains.back().last = m_members.size();
    for (Chain& chain : m_chains) measure(chain);
    for (Member& m : m_members)
      for (std::size_t k = 0; k < m.links.size(); ++k) m.along.push_back(readsAlong(m.op, k));
  }

  std::string name() const override { return m_name; }

  Status run(std::span<const KernelArgs> args, bool observed) override {
    for (std::size_t i = 0; i < m_members.size(); ++i)
      if (m_members[i].op.prepare) m_members[i].op.prepare(args[i]);
    std::int64_t work = 0;
    for (const Chain& chain : m_chains) work += chain.work;
    const int threads = work < kParallelWork ? 1 : m_threads;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t) runShare(args, observed, t, threads);
    return Ok{};
  }

 private:
  /// Members that pass their parts on: one count of elements for all.
  struct Chain {
    std::size_t first, last;  // of m_members
    std::int64_t count, grain, work;
  };

  void measure(Chain& chain) const {
    for (std::size_t i = chain.first; i < chain.last; ++i) {
      chain.grain = std::lcm(chain.grain, tileGrain(m_members[i].op.ports));
      chain.work += chain.count * m_members[i].op.work;
    }
  }

  void runShare(std::span<const KernelArgs> args, bool observed, int thread, int threads) const {
    for (std::size_t c = 0; c < m_chains.size(); ++c) {
      const Chain& chain = m_chains[c];
      if (chain.work < kParallelWork) {  // one thread's
        if (static_cast<int>(c % static_cast<std::size_t>(threads)) == thread)
          runChain(chain, args, observed, 0, chain.count);
        continue;
      }
      const std::int64_t grain = grainOf(chain, args), grains = (chain.count + grain - 1) / grain;
      runChain(chain, args, observed, grains * thread / threads * grain,
               std::min(grains * (thread + 1) / threads * grain, chain.count));
    }
  }

  static bool isWatched(const Chain& chain, std::span<const KernelArgs> args) {
    return std::ranges::any_of(args.subspan(chain.first, chain.last - chain.first),
                               [](const KernelArgs& a) { return a.watch != nullptr; });
  }
  static std::int64_t grainOf(const Chain& chain, std::span<const KernelArgs> args) {
    return isWatched(chain, args) ? std::lcm(chain.grain, UpdateWatch::kElements) : chain.grain;
  }

  /// Where a member's parts lie in one run; inputs that are linked are found while it goes on.
  struct Place {
    PartInputs in = {};
    float* out;
    bool moves;  // `out` moves on with the parts
  };

  std::vector<Place> placesOf(const Chain& chain, std::span<const KernelArgs> args, bool observed,
                              Scratch& scratch) const {
    std::vector<Place> places;
    for (std::size_t i = chain.first; i < chain.last; ++i) {
      const bool inside = m_members[i].inside && !observed;
      Place place{.out = inside ? scratch.tile(i - chain.first) : args[i].outputs[0]->data<float>().data(),
                  .moves = !inside};
      for (std::size_t k = 0; k < args[i].inputs.size(); ++k)
        if (m_members[i].links[k] < 0) place.in[k] = inputAt(m_members[i].op, args[i], k, 0);
      places.push_back(place);
    }
    return places;
  }

  void runChain(const Chain& chain, std::span<const KernelArgs> args, bool observed, std::int64_t begin,
                std::int64_t end) const {
    const std::int64_t tile = std::max(kTileElements / chain.grain, std::int64_t{1}) * chain.grain;
    Scratch scratch(observed ? 0 : chain.last - chain.first, tile);
    const std::vector<Place> places = placesOf(chain, args, observed, scratch);
    const auto tiles = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t at = from; at < to; at += tile)
        for (std::size_t i = chain.first; i < chain.last; ++i)
          runMember(chain, places, i, args[i], at, std::min(at + tile, to));
    };
    if (!isWatched(chain, args)) return tiles(begin, end);
    overWatchedBlocks(args.subspan(chain.first, chain.last - chain.first), begin, end, tiles);
  }

  void runMember(const Chain& chain, const std::vector<Place>& places, std::size_t i, const KernelArgs& args,
                 std::int64_t begin, std::int64_t end) const {
    const Member& member = m_members[i];
    const auto outOf = [&](std::size_t k) {
      const Place& place = places[k - chain.first];
      return place.out + (place.moves ? begin : 0);
    };
    PartInputs in = places[i - chain.first].in;
    for (std::size_t k = 0; k < member.links.size(); ++k)
      if (member.links[k] >= 0)
        in[k] = outOf(static_cast<std::size_t>(member.links[k]));
      else if (member.along[k])
        in[k] += begin;
    member.op.run({args, begin, end, std::span(in).first(member.links.size()), outOf(i)});
  }

  std::string m_name;
  std::vector<Member> m_members;
  std::vector<Chain> m_chains;
  int m_threads;
};

}  // namespace

// Whole cache lines, where rows allow it.
std::int64_t tileGrain(const TilePorts& ports) { return ports.row == 1 ? 16 : ports.row; }

bool fitsTiles(const CompileRequest& r) {
  return r.node.inputs.size() <= kMostInputs && r.output().dtype == DType::Float32;
}

Backend::Answer wholeKernel(const CompileRequest& r, TileAnswer answer) {
  if (!answer.op) return decline(std::move(answer.declined));
  if (!fitsTiles(r)) return decline("its result is not float32");
  return functionKernel(
      r, [op = *std::move(answer.op), threads = r.threads](const KernelArgs& args) -> Status {
        if (op.prepare) op.prepare(args);
        const std::int64_t count = args.outputs[0]->elements();
        const auto part = [&](std::int64_t begin, std::int64_t end) { runPart(op, args, begin, end); };
        const std::int64_t grain = args.watch ? UpdateWatch::kElements : tileGrain(op.ports);
        parallelRanges(count, grain, threads, count * op.work, [&](std::int64_t begin, std::int64_t end) {
          if (!args.watch) return part(begin, end);
          overWatchedBlocks(std::span(&args, 1), begin, end, part);
        });
        return Ok{};
      });
}

std::unique_ptr<GroupKernel> groupKernel(const Graph& graph, std::span<const GroupMember> members,
                                         std::vector<TileOp> ops, int threads) {
  std::vector<std::string> types;
  std::vector<TileGroup::Member> parts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Node& node = graph.node(members[i].node);
    assert(members[i].links.size() == node.inputs.size());
    types.push_back(node.opType);
    parts.push_back({std::move(ops[i]), members[i].links, members[i].inside,
                     graph.tensor(node.outputs[0]).shape.elements()});
  }
  return std::make_unique<TileGroup>("group:" + namesOf(types), std::move(parts), threads);
}

}  // namespace msdbg::core::cpu
