// SliceGrad: dY where Slice took its elements from, 0 elsewhere.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/gradient.h"
#include "core_engine/ops/slicing.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "SliceGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY"}));
  const Shape whole(intsAttribute(attributes, "shape", {}));
  MSDBG_TRY(checkSize(kName, "attribute shape", whole));
  MSDBG_ASSIGN(const Slicing s, makeSlicing(kName, whole, attributes));
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], s.shape));
  return std::vector<TensorType>{{inputs[0].dtype, whole}};
}

Status reference(const KernelArgs& args) {
  return writeStrided(args, makeSlicing(kName, args.outputs[0]->shape(), args.node.attributes).value().grid);
}

}  // namespace

OpDef sliceGradOp() {
  OpDef op{.name = kName,
           .doc = "dX = dY where Slice took its elements from, 0 elsewhere. msdbg",
           .inputNames = {"dY"},
           .outputNames = {"dX"},
           .attributes = slicingAttributes(),
           .infer = infer,
           .reference = reference};
  op.attributes.push_back({"shape", "ints", "required", "the shape of the sliced tensor"});
  return op;
}

}  // namespace msdbg::core
