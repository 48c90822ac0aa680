// The ranks of a run as its folder shows them: a program that starts its ranks itself (torchrun, a shell
// script) is the only one to know beforehand how many there will be. Reads directories only; thread-safe.
#pragma once

#include <filesystem>
#include <vector>

namespace msdbg::app {

std::filesystem::path rankFolder(const std::filesystem::path& run, int rank);
/// Those that have a folder there, ascending; none where the run cannot be read.
std::vector<int> rankFolders(const std::filesystem::path& run);

}  // namespace msdbg::app
