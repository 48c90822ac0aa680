// Damages what a recorded run holds of a checkpoint, as a bad disk would. Throws where it cannot. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace msdbg::test {

/// Flips a bit of the bytes that a rank's checkpoint of an iteration has of a tensor ("network/fc/weight:0").
/// In runs of before 28 November 2026 rows of at most 128 KiB share a chunk: then the checkpoints beside it
/// go too.
void damageState(const std::filesystem::path& run, int rank, const std::string& tensor,
                 std::int64_t iteration);

}  // namespace msdbg::test
