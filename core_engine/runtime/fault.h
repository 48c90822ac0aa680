// Planted faults (shared/specs/faults.md): a spec, its parser, and the injector that the executor asks after
// each kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

enum class FaultKind {
  kNan,
  kInf,
  kBitflip,
  kZeroGrad,
  kSkipAllreduce,
  kStaleWeight,
  kLr,
  kDeadRelu,
  kWrongKernel,    // every element times the scale
  kTruncateDtype,  // every element rounded to bfloat16
  kWrongBackward,  // as kWrongKernel, a node of the backward phase
};

struct FaultSpec {
  FaultKind kind = FaultKind::kNan;
  Iteration iteration{0};
  std::optional<Rank> rank;  // without: all ranks
  std::string node;          // glob; "": the first node in order that the kind can hit
  std::int64_t element = 0;
  int bit = 30;
  double scale = 1e4;  // where none is given: 1e4 of lr, 1.001 of wrong_kernel, 2 of wrong_backward
  std::string text;    // as given
};

/// `KIND@iteration=I[,rank=R][,node=GLOB][,element=E][,bit=B][,scale=S]`; kUsage names the part that is wrong
/// and the kinds.
Result<FaultSpec> parseFault(std::string_view text);

/// Why the fault did nothing in a training of these iterations, both included (last before first: none): "";
/// it had its time.
std::string whyNeverActed(const FaultSpec& fault, Iteration first, Iteration last);

/// Faults bound to a graph: each knows the one node it hits.
class FaultInjector {
 public:
  /// kNotFound: no node matches (nearest names); kUsage: the kind cannot hit that node, or the element is out
  /// of range.
  static Result<FaultInjector> bind(const std::vector<FaultSpec>& specs, const Graph& graph, Rank rank);
  FaultInjector() = default;

  bool empty() const { return m_faults.empty(); }
  /// Factor on the learning rate of this iteration (1 when no lr fault).
  double learningRateScale(Iteration iteration) const;
  bool hits(Iteration iteration, const Node& node) const;
  /// After the kernel of `node`, before any observer sees its outputs.
  void afterNode(Iteration iteration, const Node& node, std::span<const Tensor* const> inputs,
                 std::span<Tensor* const> outputs) const;
  /// The node each fault hits, in the order of the specs; for `lr` the first update node.
  std::vector<NodeId> targets() const;

 private:
  struct Bound {
    FaultSpec spec;
    NodeId node;
    std::vector<std::size_t> hit;  // which of its outputs
    bool here;
  };
  std::vector<Bound> m_faults;
};

}  // namespace msdbg::core
