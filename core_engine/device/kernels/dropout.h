// Dropout and its gradient: Philox4x32-10 of the element's index in the global batch
// (core_engine/base/philox.h).
#pragma once

#include "core_engine/base/philox_rounds.h"
#include "core_engine/device/kernels/kernel.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device {

MSDBG_KERNEL(dropout, DropoutParameters) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads()) {
    bool keeps = true;
    float y = p.x[i];
    if (p.training) {
      const auto index = static_cast<std::uint64_t>(p.first + i);
      const PhiloxWords words =
          philoxRounds({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                        static_cast<std::uint32_t>(*p.iteration), p.nameLow},
                       p.key0, p.key1);
      keeps = words.w[0] * 0x1p-32 >= p.ratio;
      y = keeps ? static_cast<float>(static_cast<double>(y) * p.scale) : 0.0f;
    }
    p.mask[i] = keeps;
    p.y[i] = y;
  }
}
MSDBG_KERNEL(dropout_grad, DropoutGradParameters) {
  for (std::int64_t i = globalThread(); i < p.count; i += allThreads())
    p.dx[i] = p.mask[i] ? static_cast<float>(static_cast<double>(p.dy[i]) * p.scale) : 0.0f;
}

}  // namespace msdbg::core::device
