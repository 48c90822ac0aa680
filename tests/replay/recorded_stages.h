// Stages (tests/watchpoints/stages.h) as recorders of four ranks would leave them.
#pragma once

#include <filesystem>
#include <optional>

#include "tests/watchpoints/stages.h"

namespace msdbg::test {

/// Every tensor of every iteration, with its value. `firstStep`: the program's own number of iteration 0, if
/// it tells any.
void recordStages(const Stages& stages, const std::filesystem::path& run,
                  std::optional<int> firstStep = std::nullopt);

}  // namespace msdbg::test
