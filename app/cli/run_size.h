// What a run takes on the disk, and what is said where that is more than --max-size. No state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace msdbg::app {

/// Of all files below it; those that go away meanwhile are left out.
std::uint64_t folderBytes(const std::filesystem::path& folder);

/// "more than --max-size (3.0 MB): …", and what to do; "" where it is not.
std::string overBudgetText(std::uint64_t bytes, std::uint64_t maxBytes);

}  // namespace msdbg::app
