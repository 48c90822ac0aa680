#include "core_engine/ops/reduce_extreme.h"

namespace msdbg::core {

Result<std::vector<TensorType>> inferReduceExtreme(std::string_view op, InputTypes inputs,
                                                   const Attributes& attributes) {
  MSDBG_TRY(checkInputs(op, inputs, {"data"}));
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes(op, attributes, inputs[0].shape.rank()));
  return std::vector<TensorType>{{inputs[0].dtype, reducedShape(inputs[0].shape, reduced, attributes)}};
}

Result<std::vector<TensorType>> inferReduceExtremeGrad(std::string_view op, InputTypes inputs,
                                                       const Attributes& attributes) {
  MSDBG_TRY(checkFloatingInputs(op, inputs, {"dY", "X", "Y"}));
  const Shape& x = inputs[1].shape;
  MSDBG_ASSIGN(const std::vector<bool> reduced, reducedAxes(op, attributes, x.rank()));
  const Shape wanted = reducedShape(x, reduced, attributes);
  MSDBG_TRY(checkShape(op, "dY", inputs[0], wanted));
  MSDBG_TRY(checkShape(op, "Y", inputs[2], wanted));
  return std::vector{inputs[1]};
}

Status referenceReduceExtremeGrad(const KernelArgs& args) {
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

OpDef reduceExtremeOp(std::string_view name, std::string_view doc, InferFn infer, GradientFn gradient,
                      ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .inputNames = {"data"},
          .outputNames = {"reduced"},
          .dataTypes = DataTypes::kAny,
          .attributes = reductionAttributes(false),
          .infer = infer,
          .gradient = gradient,
          .reference = reference};
}

OpDef reduceExtremeGradOp(std::string_view name, std::string_view doc, InferFn infer) {
  return {.name = name,
          .doc = doc,
          .minInputs = 3,
          .maxInputs = 3,
          .inputNames = {"dY", "X", "Y"},
          .outputNames = {"dX"},
          .attributes = reductionAttributes(false),
          .infer = infer,
          .reference = referenceReduceExtremeGrad};
}

}  // namespace msdbg::core
