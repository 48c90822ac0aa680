// Backend: turns nodes into kernels that run. `cpu` is the fast one, `reference` runs OpDef::reference; those
// of a device (core_engine/device) compute where its memory is. A backend that declines a node says why, and
// the next one is asked; reference is last.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/backend_kind.h"
#include "core_engine/base/ids.h"
#include "core_engine/ops/op.h"
#include "core_engine/plan/kernel_facts.h"

namespace msdbg::core {

class DeviceMemory;  // device_memory.h

/// One compiled kernel. run() is called from the training thread only; it may use `state.threads` OpenMP
/// threads.
class KernelImpl {
 public:
  virtual ~KernelImpl() = default;
  virtual std::string name() const = 0;  // "dnnl:Conv", "cpu:Relu", "reference:Gemm"
  /// What a library calls its code that runs, which decides bits too: "jit:avx512_core"; "" where it is ours.
  virtual std::string implementation() const { return ""; }
  /// What run() queues on a device is the same each time, but for where the tensors lie.
  virtual bool repeats() const { return false; }
  virtual Status run(const KernelArgs& args) = 0;
};

/// The kernels of several nodes, compiled into one.
class GroupKernel {
 public:
  virtual ~GroupKernel() = default;
  virtual std::string name() const = 0;           // "group:Add+LayerNormalization"
  virtual bool repeats() const { return false; }  // as KernelImpl
  /// `members`: what their own kernels would be given. Unless `observed`, what lies inside is not written.
  virtual Status run(std::span<const KernelArgs> members, bool observed) = 0;
};

class Backend : public KernelFacts {
 public:
  virtual std::string name() const = 0;
  /// Where its kernels want their tensors; nullptr: on the host.
  virtual DeviceMemory* memory() const { return nullptr; }
  /// Of the code of its kernels for this operator: raised when their bits change (tests/cpu/
  /// kernel_revisions_test holds it against them). 0: it has none.
  virtual int revision(std::string_view opType) const = 0;
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
  /// Before the kernels of an iteration.
  virtual void start(const RunState&) {}
  /// What kernels found wrong in the iteration that they have been given, once all of them are done: theirs
  /// is a queue.
  struct Finding {
    NodeId node;  // invalid: it is not known which
    Error error;
  };
  virtual std::optional<Finding> finish() { return {}; }
};

std::unique_ptr<Backend> makeReferenceBackend();
std::unique_ptr<Backend> makeCpuBackend();  // core_engine/cpu
/// Of kEmulated or kCuda; of several devices rank r takes number r modulo how many there are. kUnsupported:
/// there is no device, or msdbg was built without it, and what to do. core_engine/device.
Result<std::unique_ptr<Backend>> makeDeviceBackend(BackendKind kind, Rank rank);
/// The file of the module for CUDA, where it is known: beside this program, or what MSDBG_CUDA_MODULE says;
/// "" else.
std::string cudaModule();
/// What decides the bits of a device's kernels, for the run folder: "device" -> "NVIDIA H200, sm_90",
/// "cublasLt" -> "13.0.2". Nothing for the CPU's. Errors as makeDeviceBackend().
Result<std::vector<std::pair<std::string, std::string>>> deviceLibraries(BackendKind kind, Rank rank);

/// What the run folder records about the machine's kernels: "dnnl 2.6.3 avx512_core, …".
struct CpuInfo {
  std::string model;
  std::vector<std::string> features;
  std::string dnnlVersion, dnnlIsa;
  /// "l1d", "l2", "l3" -> bytes, where the system says: oneDNN cuts its work by them.
  std::vector<std::pair<std::string, std::int64_t>> caches;
  /// The versions that decide bits: "dnnl" -> "2.6.3 avx512_core", "libc", "compiler".
  std::vector<std::pair<std::string, std::string>> libraries;
};
CpuInfo cpuInfo();

/// oneDNN uses no more than this instruction set ("avx2", as CpuInfo::dnnlIsa names them) in this process.
/// kUnsupported: it has been used already, or does not know that one.
Status limitInstructionSet(const std::string& dnnlIsa);

}  // namespace msdbg::core
