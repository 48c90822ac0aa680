#include "core_engine/device/device_backend.h"

#include "core_engine/device/kernel_factory.h"
#include "core_engine/graph/graph_text.h"

namespace msdbg::core::device {
namespace {

class DeviceKernel : public KernelImpl {
 public:
  DeviceKernel(std::string name, std::string implementation, RunFunction run)
      : m_name(std::move(name)), m_implementation(std::move(implementation)), m_run(std::move(run)) {}
  std::string name() const override { return m_name; }
  std::string implementation() const override { return m_implementation; }
  bool repeats() const override { return true; }
  Status run(const KernelArgs& args) override {
    m_run(args);
    return Ok{};
  }

 private:
  std::string m_name, m_implementation;
  RunFunction m_run;
};

/// Updates of several parameters, one after another: each is a launch of its own.
class Updates : public GroupKernel {
 public:
  Updates(std::string name, std::vector<std::unique_ptr<KernelImpl>> kernels)
      : m_name(std::move(name)), m_kernels(std::move(kernels)) {}
  std::string name() const override { return m_name; }
  bool repeats() const override { return true; }
  Status run(std::span<const KernelArgs> members, bool) override {
    for (std::size_t i = 0; i < members.size(); ++i) MSDBG_TRY(m_kernels[i]->run(members[i]));
    return Ok{};
  }

 private:
  std::string m_name;
  std::vector<std::unique_ptr<KernelImpl>> m_kernels;
};

const DeviceKernelRow* findRow(std::string_view opType) {
  const auto rows = builtinDeviceKernels();
  const auto found = std::ranges::find(rows, opType, &DeviceKernelRow::opType);
  return found == rows.end() ? nullptr : &*found;
}

/// Why no kernel of the row could take the tensor; "" if it could.
std::string objection(const DeviceKernelRow& row, const TensorInfo& tensor) {
  if (!tensor.shape.known()) return tensor.fullName() + " has unknown dimensions";
  if (tensor.shape.elements() == 0) return tensor.fullName() + " is empty";
  if (isRounded(tensor.dtype))
    return tensor.fullName() + " is " + std::string(dtypeName(tensor.dtype)) +
           ": computed in float32 and rounded";
  if (!row.anyDtype && isFloating(tensor.dtype) && tensor.dtype != DType::Float32)
    return tensor.fullName() + " is " + std::string(dtypeName(tensor.dtype)) +
           "; the kernel computes in float32";
  return "";
}
std::string objection(const DeviceKernelRow& row, const Graph& graph, const Node& node) {
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (const TensorId id : *ids)
      if (std::string why = objection(row, graph.tensor(id)); !why.empty()) return why;
  return "";
}

class DeviceBackend : public Backend {
 public:
  DeviceBackend(std::string name, std::shared_ptr<Device> device)
      : m_name(std::move(name)), m_context(std::make_shared<DeviceContext>(std::move(device))) {}

  std::string name() const override { return m_name; }
  DeviceMemory* memory() const override { return m_context.get(); }
  int revision(std::string_view opType) const override {
    const DeviceKernelRow* row = findRow(opType);
    return row ? row->revision : 0;
  }

  using Backend::compile;
  Answer compile(const Graph& graph, const Node& node, int, const Layouts& layouts) override {
    const DeviceKernelRow* row = findRow(node.opType);
    if (!row) return decline("there is no kernel of a device for " + node.opType);
    for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
      for (const TensorId id : *ids)
        if (layoutOf(layouts, id) != Layout::kRowMajor) return decline("it knows row-major only");
    if (std::string why = objection(*row, graph, node); !why.empty()) return decline(std::move(why));
    return row->make({graph, node, *m_context, m_name});
  }

  /// Of updates only: they may write over what they read, and are grouped.
  std::optional<TilePorts> tiles(const Graph& graph, const Node& node, const Layouts&) const override {
    const DeviceKernelRow* row = findRow(node.opType);
    if (!row || !row->inPlace || node.phase != Phase::kUpdate || !objection(*row, graph, node).empty())
      return {};
    return TilePorts{.inPlace = true};
  }
  std::unique_ptr<GroupKernel> compileGroup(const Graph& graph, std::span<const GroupMember> members,
                                            int threads, const Layouts& layouts) override {
    std::vector<std::unique_ptr<KernelImpl>> kernels;
    for (const GroupMember& member : members) {
      Answer answer = compile(graph, graph.node(member.node), threads, layouts);
      if (!answer.kernel) return nullptr;
      kernels.push_back(std::move(answer.kernel));
    }
    return std::make_unique<Updates>("group:updates*" + std::to_string(kernels.size()), std::move(kernels));
  }

  void start(const RunState& state) override { m_context->startIteration(state.iteration.value); }
  std::optional<Finding> finish() override { return m_context->alarms(); }

 private:
  std::string m_name;
  std::shared_ptr<DeviceContext> m_context;
};

}  // namespace

Backend::Answer deviceKernel(const DeviceRequest& request, RunFunction run, std::string implementation) {
  return {std::make_unique<DeviceKernel>(std::string(request.backend) + ":" + request.node.opType,
                                         std::move(implementation), std::move(run)),
          ""};
}

std::unique_ptr<Backend> makeDeviceBackend(std::string name, std::shared_ptr<Device> device) {
  return std::make_unique<DeviceBackend>(std::move(name), std::move(device));
}

}  // namespace msdbg::core::device
