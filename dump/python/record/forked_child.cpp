#include "dump/python/record/forked_child.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace msdbg::dump {

void closeFilesOf(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  const std::string prefix = std::filesystem::weakly_canonical(folder, ignored).string() + "/";
  DIR* listing = opendir("/proc/self/fd");
  if (!listing) return;
  std::vector<int> ours;
  while (const dirent* entry = readdir(listing)) {
    char target[PATH_MAX];
    const ssize_t length = readlinkat(dirfd(listing), entry->d_name, target, sizeof target);
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)).starts_with(prefix))
      ours.push_back(atoi(entry->d_name));
  }
  closedir(listing);
  for (const int descriptor : ours) close(descriptor);
}

}  // namespace msdbg::dump
