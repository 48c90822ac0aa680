// The reference kernel of operators that only give the same bytes another shape: Identity, Reshape, Flatten.
#pragma once

#include <cstring>

#include "core_engine/ops/op.h"

namespace msdbg::core {

inline Status copyInput(const KernelArgs& args) {
  // memcpy must not be called with the null pointers that empty tensors may have.
  if (args.inputs[0]->bytes() > 0)
    std::memcpy(args.outputs[0]->raw(), args.inputs[0]->raw(), args.inputs[0]->bytes());
  return Ok{};
}

}  // namespace msdbg::core
