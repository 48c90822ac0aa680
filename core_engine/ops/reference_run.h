// The reference kernel of a node, whatever the dtypes of its tensors: those of float16 and bfloat16 are
// computed in float32 and rounded, as the engine does (core_engine/runtime/rounded_kernel.h). Thread-safe.
#pragma once

#include "core_engine/ops/op.h"

namespace msdbg::core {

/// `op` has a reference kernel. Errors are the kernel's; kUsage, kUnsupported: where some tensor is rounded,
/// its outputs are not what the operator makes of its inputs.
Status runReference(const OpDef& op, const KernelArgs& args);

}  // namespace msdbg::core
