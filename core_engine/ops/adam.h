// What one step of AdamUpdate computes from its attributes and scalars before it walks the elements: shared
// by the reference and the fast kernel, so that both give the same bits. Pure functions.
#pragma once

#include "core_engine/ops/element_formulas.h"
#include "core_engine/ops/op.h"

namespace msdbg::core {

AdamSettings adamSettings(const Attributes& attributes);
/// Reads inputs 2 (learning rate) and 5 (steps done so far).
AdamStep adamStep(const KernelArgs& args);

}  // namespace msdbg::core
