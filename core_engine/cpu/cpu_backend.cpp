#include <algorithm>

#include "core_engine/cpu/dnnl_internal.h"
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/tile_op.h"

namespace msdbg::core {
namespace cpu {
namespace {

class FunctionKernel : public KernelImpl {
 public:
  FunctionKernel(std::string name, RunFunction run) : m_name(std::move(name)), m_run(std::move(run)) {}
  std::string name() const override { return m_name; }
  Status run(const KernelArgs& args) override { return m_run(args); }

 private:
  std::string m_name;
  RunFunction m_run;
};

const KernelRow* findRow(std::string_view opType) {
  const auto rows = builtinKernels();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const KernelRow& r) { return r.opType == opType; });
  return found == rows.end() ? nullptr : &*found;
}

/// Why no kernel of the row could take the tensor; "" if it could.
std::string objection(const KernelRow& row, const TensorInfo& tensor) {
  if (!tensor.shape.known()) return tensor.fullName() + " has unknown dimensions";
  if (tensor.shape.elements() == 0) return tensor.fullName() + " is empty";
  if (isRounded(tensor.dtype))
    return tensor.fullName() + " is " + std::string(dtypeName(tensor.dtype)) +
           ": computed in float32 and rounded";
  if (row.dtypes == DTypes::kFloat32 && isFloating(tensor.dtype) && tensor.dtype != DType::Float32)
    return tensor.fullName() + " is " + std::string(dtypeName(tensor.dtype)) +
           "; the fast kernel computes in float32";
  return "";
}

std::string objection(const KernelRow& row, const Graph& graph, const Node& node) {
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (TensorId id : *ids)
      if (std::string why = objection(row, graph.tensor(id)); !why.empty()) return why;
  return "";
}

/// Why the row has no kernel for tensors that lie so; "" if it has.
std::string layoutObjection(const KernelRow& row, const Graph& graph, const Node& node,
                            const Layouts& layouts) {
  const LayoutPorts ports = layoutPorts(row, graph, node);
  std::size_t blocked = 0;
  for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
    for (const TensorId id : *ids) {
      if (layoutOf(layouts, id) == Layout::kRowMajor) continue;
      ++blocked;
      if (!std::ranges::count(ports.each, id) && !std::ranges::count(ports.alike, id))
        return graph.tensor(id).fullName() + " does not lie row-major";
    }
  const bool mixed = !ports.alike.empty() && blocked != 0 && blocked != ports.alike.size();
  return mixed ? "its tensors do not lie alike" : "";
}

class CpuBackend : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  int revision(std::string_view opType) const override {
    const KernelRow* row = findRow(opType);
    return row ? row->revision : 0;
  }

  using Backend::compile;
  Answer compile(const Graph& graph, const Node& node, int threads, const Layouts& layouts) override {
    const KernelRow* row = findRow(node.opType);
    if (!row) return decline("there is no fast kernel for " + node.opType);
    if (std::string why = objection(*row, graph, node); !why.empty()) return decline(std::move(why));
    if (std::string why = layoutObjection(*row, graph, node, layouts); !why.empty())
      return decline(std::move(why));
    const CompileRequest request{graph, node, std::max(threads, 1), m_dnnl, layouts};
    return row->make ? row->make(request) : wholeKernel(request, row->tiles(request));
  }

  std::optional<TilePorts> tiles(const Graph& graph, const Node& node,
                                 const Layouts& layouts) const override {
    const std::optional<TileOp> op = tileOp(graph, node, 1, layouts);
    return op ? std::optional(op->ports) : std::nullopt;
  }

  std::unique_ptr<GroupKernel> compileGroup(const Graph& graph, std::span<const GroupMember> members,
                                            int threads, const Layouts& layouts) override {
    std::vector<TileOp> ops;
    for (const GroupMember& member : members) {
      std::optional<TileOp> op = tileOp(graph, graph.node(member.node), std::max(threads, 1), layouts);
      if (!op) return nullptr;
      ops.push_back(*std::move(op));
    }
    return groupKernel(graph, members, std::move(ops), std::max(threads, 1));
  }

  LayoutPorts layouts(const Graph& graph, const Node& node) const override {
    static const bool blocks16 = hasAvx512Convolutions();
    const KernelRow* row = findRow(node.opType);
    if (!blocks16 || !row || !objection(*row, graph, node).empty()) return {};
    return layoutPorts(*row, graph, node);
  }

 private:
  std::optional<TileOp> tileOp(const Graph& graph, const Node& node, int threads,
                               const Layouts& layouts) const {
    const KernelRow* row = findRow(node.opType);
    if (!row || !row->tiles || !objection(*row, graph, node).empty() ||
        !layoutObjection(*row, graph, node, layouts).empty())
      return {};
    const CompileRequest request{graph, node, threads, m_dnnl, layouts};
    return fitsTiles(request) ? row->tiles(request).op : std::nullopt;
  }

  std::shared_ptr<DnnlContext> m_dnnl = std::make_shared<DnnlContext>();
};

}  // namespace

Backend::Answer functionKernel(const CompileRequest& request, RunFunction run) {
  return {std::make_unique<FunctionKernel>("cpu:" + request.node.opType, std::move(run)), ""};
}

}  // namespace cpu

std::unique_ptr<Backend> makeCpuBackend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace msdbg::core
