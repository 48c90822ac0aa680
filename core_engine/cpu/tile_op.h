// TileOp: a kernel that works in parts of its first output. Alone it goes through all of it; a group
// (group_kernel.cpp) gives several of them the same part one after another, while it is in the cache. An
// element has the same bits in whatever part it is computed. Used from the training thread; run() by its
// team, for parts that do not overlap.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/graph/tiles.h"

namespace msdbg::core::cpu {

/// One part of one run. Other inputs and outputs are taken from `args`, at the same elements.
struct TilePart {
  const KernelArgs& args;
  std::int64_t begin, end;  // elements of the first output, whole rows
  // Float32 inputs: element `begin` of what is read along, element 0 of what is not; nullptr for other
  // dtypes.
  std::span<const float* const> in;
  float* out;  // element `begin` of the first output

  std::int64_t count() const { return end - begin; }
};

struct TileOp {
  TilePorts ports;
  std::function<void(const TilePart& part)> run;
  std::function<void(const KernelArgs& args)> prepare = {};  // once before the parts; may use the team
  std::int64_t work = 1;  // of an element, in element-wise operations (parallel.h)
};

/// A part of a next value that is the current one; in place there is nothing to do.
inline void keepTile(const float* from, float* to, std::int64_t n) {
  if (from != to) std::copy(from, from + n, to);
}

/// What a factory says: the operation, or why it cannot help.
struct TileAnswer {
  std::optional<TileOp> op;
  std::string declined;
};
inline TileAnswer noTiles(std::string reason) { return {{}, std::move(reason)}; }

/// Whether a node can have one: its first output is float32, and it has few inputs.
bool fitsTiles(const CompileRequest& request);
/// Elements a thread's parts begin and end at.
std::int64_t tileGrain(const TilePorts& ports);
/// The operation by itself, as a kernel of the node.
Backend::Answer wholeKernel(const CompileRequest& request, TileAnswer answer);
/// Of nodes whose operations are `ops`.
std::unique_ptr<GroupKernel> groupKernel(const Graph& graph, std::span<const GroupMember> members,
                                         std::vector<TileOp> ops, int threads);

}  // namespace msdbg::core::cpu
