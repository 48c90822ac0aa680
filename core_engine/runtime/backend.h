// Backend: turns nodes into kernels that run. `cpu` is the fast one, `reference` runs OpDef::reference; CUDA
// comes later behind the same interface. A backend that declines a node says why, and the next one is asked;
// reference is last.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core_engine/ops/op.h"
#include "core_engine/plan/kernel_facts.h"

namespace msdbg::core {

/// One compiled kernel. run() is called from the training thread only; it may use `state.threads` OpenMP
/// threads.
class KernelImpl {
 public:
  virtual ~KernelImpl() = default;
  virtual std::string name() const = 0;  // "dnnl:Conv", "cpu:Relu", "reference:Gemm"
  virtual Status run(const KernelArgs& args) = 0;
};

/// The kernels of several nodes, compiled into one.
class GroupKernel {
 public:
  virtual ~GroupKernel() = default;
  virtual std::string name() const = 0;  // "group:Add+LayerNormalization"
  /// `members`: what their own kernels would be given. Unless `observed`, what lies inside is not written.
  virtual Status run(std::span<const KernelArgs> members, bool observed) = 0;
};

class Backend : public KernelFacts {
 public:
  virtual std::string name() const = 0;
  /// nullptr kernel and a reason when the backend declines the node.
  struct Answer {
    std::unique_ptr<KernelImpl> kernel;
    std::string declined;
  };
  Answer compile(const Graph& graph, const Node& node, int threads) {
    return compile(graph, node, threads, {});
  }
  /// The same for tensors that lie otherwise than row-major; a backend that knows no such kernel declines.
  virtual Answer compile(const Graph& graph, const Node& node, int threads, const Layouts& layouts) = 0;
  /// Of nodes that have tiles(), bit for bit what their own kernels compute; nullptr where one has none.
  virtual std::unique_ptr<GroupKernel> compileGroup(const Graph&, std::span<const GroupMember>,
                                                    int /*threads*/, const Layouts&) {
    return nullptr;
  }
};

std::unique_ptr<Backend> makeReferenceBackend();
std::unique_ptr<Backend> makeCpuBackend();  // core_engine/cpu

/// What the run folder records about the machine's kernels: "dnnl 2.6.3 avx512_core, …".
struct CpuInfo {
  std::string model;
  std::vector<std::string> features;
  std::string dnnlVersion, dnnlIsa;
};
CpuInfo cpuInfo();

}  // namespace msdbg::core
