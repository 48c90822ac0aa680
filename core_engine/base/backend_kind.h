// The names of what computes, as options and run folders say them; the backends themselves are
// core_engine/runtime/backend.h. Values; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "core_engine/base/result.h"

namespace msdbg::core {

/// What computes. Numbers differ between them, so nobody chooses but the user.
enum class BackendKind : std::uint8_t {
  kFast,       // "cpu"
  kReference,  // "reference": slow, for comparison
  kEmulated,   // "emulated": the kernels of a GPU on the CPU, for tests of them
  kCuda,       // "cuda": an NVIDIA GPU
};
std::string_view backendName(BackendKind kind);
/// kUsage: there is none of that name; lists them.
Result<BackendKind> backendNamed(std::string_view name);

}  // namespace msdbg::core
