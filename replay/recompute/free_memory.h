// How much memory there is before something large is begun. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace msdbg::replay {

/// Bytes that can be had without swapping. nullopt: the system does not say.
std::optional<std::uint64_t> freeMemory();

}  // namespace msdbg::replay
