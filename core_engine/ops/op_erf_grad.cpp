// ErfGrad: dX = dY * 2 / sqrt(pi) * exp(-X^2).
#include "core_engine/ops/unary.h"

namespace msdbg::core {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> inputs, const Attributes&) {
  return inferSameShape("ErfGrad", inputs, {"dY", "X"});
}

Status reference(const KernelArgs& args) {
  constexpr double kFactor = 1.12837916709551257390;  // 2 / sqrt(pi)
  return mapBinary(args, [](double dy, double x) { return dy * kFactor * std::exp(-x * x); });
}

}  // namespace

OpDef erfGradOp() {
  return unaryGradOp("ErfGrad", "dX = dY * 2 / sqrt(pi) * exp(-X * X). msdbg", infer, reference);
}

}  // namespace msdbg::core
