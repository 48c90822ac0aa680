// Stages (tests/watchpoints/stages.h) as recorders of four ranks would leave them.
#pragma once

#include <filesystem>

#include "tests/watchpoints/stages.h"

namespace msdbg::test {

/// Every tensor of every iteration, with its value.
void recordStages(const Stages& stages, const std::filesystem::path& run);

}  // namespace msdbg::test
