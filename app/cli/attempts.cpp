#include "app/cli/attempts.h"

#include <fmt/format.h>

#include <cstdint>

#include "dump/run_info.h"

namespace msdbg::app {

namespace fs = std::filesystem;

namespace {

constexpr int kMost = 99;
constexpr std::size_t kIdDigits = 32, kCountingDigits = 4;

}  // namespace

fs::path attemptFolder(const fs::path& first, int number) {
  if (number == 1) return first;
  return first.parent_path() /
         fmt::format("{}-attempt{}{}", first.stem().string(), number, first.extension().string());
}

std::string attemptId(const std::string& first, int number) {
  if (first.size() != kIdDigits) return {};
  const std::string head = first.substr(0, kIdDigits - kCountingDigits);
  const auto last = static_cast<std::uint32_t>(std::stoul(first.substr(head.size()), nullptr, 16));
  return fmt::format("{}{:04x}", head, (last + static_cast<std::uint32_t>(number) - 1) % 65536);
}

std::optional<AttemptPlace> nextAttempt(const fs::path& first, const std::string& id, int after) {
  std::error_code ignored;
  for (int number = after + 1; number <= kMost; ++number) {
    const fs::path folder = attemptFolder(first, number);
    if (!fs::exists(folder, ignored)) return std::nullopt;
    const auto info = dump::readRunInfo(folder);
    const std::string wanted = attemptId(id, number);
    if (info.ok() && !wanted.empty() && info->id == wanted) return AttemptPlace{folder, wanted, number};
  }
  return std::nullopt;
}

}  // namespace msdbg::app
