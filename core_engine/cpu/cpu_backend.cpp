#include <algorithm>

#include "core_engine/cpu/dnnl_internal.h"
#include "core_engine/cpu/kernel_factory.h"

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
  if (row.dtypes == DTypes::kFloat32 && isFloating(tensor.dtype) && tensor.dtype != DType::Float32)
    return tensor.fullName() + " is " + std::string(dtypeName(tensor.dtype)) +
           "; the fast kernel computes in float32";
  return "";
}

class CpuBackend : public Backend {
 public:
  std::string name() const override { return "cpu"; }

  Answer compile(const Graph& graph, const Node& node, int threads) override {
    const KernelRow* row = findRow(node.opType);
    if (!row) return decline("there is no fast kernel for " + node.opType);
    for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
      for (TensorId id : *ids)
        if (std::string why = objection(*row, graph.tensor(id)); !why.empty()) return decline(std::move(why));
    return row->make({graph, node, std::max(threads, 1), m_dnnl});
  }

 private:
  std::shared_ptr<DnnlContext> m_dnnl = std::make_shared<DnnlContext>();
};

}  // namespace

Backend::Answer functionKernel(const CompileRequest& request, RunFunction run) {
  return {std::make_unique<FunctionKernel>("cpu:" + request.node.opType, std::move(run)), ""};
}

}  // namespace cpu

std::unique_ptr<Backend> makeCpuBackend() { return std::make_unique<cpu::CpuBackend>(); }

}  // namespace msdbg::core
