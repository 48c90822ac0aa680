#include "app/cli/rank_folders.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "dump/session/run_control.h"

namespace msdbg::app {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "rank_";

// "rank_3" -> 3, and -1 of all else.
int rankOf(const std::string& name) {
  int rank = -1;
  if (!name.starts_with(kPrefix)) return -1;
  const char* const end = name.data() + name.size();
  const auto [read, error] = std::from_chars(name.data() + kPrefix.size(), end, rank);
  return error == std::errc() && read == end && rank < dump::RunControl::kMaxRanks ? rank : -1;
}

}  // namespace

fs::path rankFolder(const fs::path& run, int rank) {
  return run / (std::string(kPrefix) + std::to_string(rank));
}

std::vector<int> rankFolders(const fs::path& run) {
  std::vector<int> ranks;
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end; entry.increment(error))
    if (const int rank = rankOf(entry->path().filename().string()); rank >= 0 && entry->is_directory(error))
      ranks.push_back(rank);
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace msdbg::app
