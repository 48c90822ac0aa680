// ReduceMaxGrad: dY at the first element that ReduceMax found largest, 0 elsewhere.
#include "core_engine/ops/builtin_ops.h"
#include "core_engine/ops/extremes.h"
#include "core_engine/ops/reduction.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kName = "ReduceMaxGrad";

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(kName, inputs, {"dY", "X", "Y"}));
  const Shape& x = inputs[1].shape;
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes(kName, attributes, x.rank()));
  const Shape wanted = reducedShape(x, reduced, attributes);
  MSDBG_TRY(checkShape(kName, "dY", inputs[0], wanted));
  MSDBG_TRY(checkShape(kName, "Y", inputs[2], wanted));
  return std::vector{inputs[1]};
}

Status reference(const KernelArgs& args) {
  const ReductionPlan plan = planOf(args, args.inputs[1]->shape());
  visitFloating(args.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = args.inputs[0]->data<T>();
    const T *x = args.inputs[1]->data<T>().data(), *y = args.inputs[2]->data<T>().data();
    T* dx = args.outputs[0]->data<T>().data();
    forResults(plan, args.state.threads, [&](std::int64_t result, const auto& each) {
      bool found = false;
      each([&](std::int64_t at) {
        const bool here = !found && (x[at] == y[result] || (isNan(x[at]) && isNan(y[result])));
        dx[at] = here ? dy[static_cast<std::size_t>(result)] : T(0);
        found = found || here;
      });
    });
  });
  return Ok{};
}

}  // namespace

OpDef reduceMaxGradOp() {
  return {.name = kName,
          .doc = "dX = dY at the first element that equals Y (or the first NaN), 0 elsewhere. msdbg",
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"dY", "X", "Y"},
          .outputNames = {"dX"},
          .attributes = reductionAttributes(false),
          .infer = infer,
          .reference = reference};
}

}  // namespace msdbg::core
