// Alignment: which node and which tensor of one graph is which of another: of two runs of a program that was
// changed, renamed or given other ranks. By name first; then by what is read (the same operator on the same
// operands is the same node, whatever it is called), and by the line of the source. Pure functions;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/diff/graph_side.h"

namespace msdbg::replay {

/// What said that two nodes are one.
enum class AlignedBy {
  kName,       // the full name
  kCount,      // the name but for its numbers: something was added beside it
  kStructure,  // the operator, the types and what it reads
  kLine,       // the operator, the types and the line of the source
};
std::string_view alignedByName(AlignedBy by);  // "name", "count", "structure", "line"

struct AlignedNode {
  core::NodeId a, b;
  AlignedBy by = AlignedBy::kName;
};
struct AlignedTensor {
  core::TensorId a, b;
  std::int64_t order = -1;  // of A's node; -1: a source
  bool sameType = true;     // dtype and shape
};

struct Alignment {
  std::vector<AlignedNode> nodes;      // in A's order
  std::vector<AlignedTensor> tensors;  // sources, then in A's order
  std::vector<core::NodeId> onlyA, onlyB;
  std::vector<core::TensorId> sourcesOnlyA, sourcesOnlyB;

  core::TensorId toB(core::TensorId a) const {
    return a.index() < partners.size() ? partners[a.index()] : core::TensorId();
  }
  std::vector<core::TensorId> partners;  // by A's id; invalid: it has none
};

/// Gradients go by what they are gradients of (`grad(W)`), not by who computes them: with several ranks that
/// is the collective.
Alignment align(const GraphSide& a, const GraphSide& b);

/// "network/conv1/Conv-op12@2" -> "network/conv1/Conv"
std::string withoutCounts(std::string_view name);

}  // namespace msdbg::replay
