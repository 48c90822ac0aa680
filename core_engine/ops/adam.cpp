#include "core_engine/ops/adam.h"

namespace msdbg::core {

AdamSettings adamSettings(const Attributes& a) {
  return {floatAttribute(a, "beta1", 0.9),    floatAttribute(a, "beta2", 0.999),
          floatAttribute(a, "epsilon", 1e-8), floatAttribute(a, "weight_decay", 0),
          floatAttribute(a, "lr_factor", 1),  intAttribute(a, "decoupled", 0) != 0};
}

AdamStep adamStep(const KernelArgs& args) {
  return adamStepOf(adamSettings(args.node.attributes), args.inputs[2]->at(0),
                    args.inputs[5]->data<std::int64_t>()[0]);
}

}  // namespace msdbg::core
