#include "app/cli/run_size.h"

#include <fmt/format.h>

#include "core_engine/base/text.h"

namespace msdbg::app {

namespace fs = std::filesystem;

std::uint64_t folderBytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;  // files come and go while the run is recorded
    if (const std::uintmax_t size = entry->file_size(gone); !gone) bytes += size;
  }
  return bytes;
}

std::string overBudgetText(std::uint64_t bytes, std::uint64_t maxBytes) {
  if (bytes <= maxBytes) return {};
  return fmt::format(
      "more than --max-size ({}): what stays of every iteration (scalars, digests, hashes of batches, the "
      "journal) and the newest cannot go; a longer run needs a larger one, or --every",
      core::formatBytes(maxBytes));
}

}  // namespace msdbg::app
