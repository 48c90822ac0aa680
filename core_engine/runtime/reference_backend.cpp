#include "core_engine/runtime/backend.h"

namespace msdbg::core {
namespace {

class ReferenceKernel : public KernelImpl {
 public:
  explicit ReferenceKernel(const OpDef& op) : m_op(op) {}
  std::string name() const override { return "reference:" + std::string(m_op.name); }
  Status run(const KernelArgs& args) override { return m_op.reference(args); }

 private:
  const OpDef& m_op;
};

class ReferenceBackend : public Backend {
 public:
  std::string name() const override { return "reference"; }
  int revision(std::string_view opType) const override {
    const OpDef* op = findOp(opType);
    return op && op->reference ? op->revision : 0;
  }
  using Backend::compile;
  Answer compile(const Graph&, const Node& node, int, const Layouts& layouts) override {
    for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs})
      for (const TensorId id : *ids)
        if (layoutOf(layouts, id) != Layout::kRowMajor) return {nullptr, "it knows row-major only"};
    const OpDef* op = findOp(node);
    if (!op) return {nullptr, "operator " + node.opType + " is not known to this engine"};
    if (!op->reference) return {nullptr, "operator " + node.opType + " has no reference kernel"};
    return {std::make_unique<ReferenceKernel>(*op), ""};
  }
};

}  // namespace

std::unique_ptr<Backend> makeReferenceBackend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace msdbg::core
