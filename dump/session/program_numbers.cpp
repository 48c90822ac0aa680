#include "dump/session/program_numbers.h"

#include <charconv>
#include <limits>

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

template <typename T>
struct Range {
  T least, most;
  std::string text() const {
    return "a whole number from " + std::to_string(least) +
           (most == std::numeric_limits<T>::max() ? "" : " to " + std::to_string(most));
  }
};
constexpr Range<std::int64_t> kSteps{1, std::numeric_limits<std::int64_t>::max()};
constexpr Range<std::uint64_t> kSeeds{0, std::numeric_limits<std::uint64_t>::max()};
constexpr Range<int> kThreads{1, kMostThreads};

template <typename T>
Result<T> number(const std::string& origin, const std::string& text, const Range<T>& range) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < range.least || value > range.most)
    return Error(ErrorCode::kUsage, origin + ": '" + text + "' is not " + range.text());
  return value;
}

// `--steps 5` or `--steps=5`. All other arguments belong to the program. take(name, option, text or nullopt)
template <typename Take>
Status forEachSetting(const std::vector<std::string>& words, const Take& take) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    for (const ProgramNumber& row : kProgramNumbers) {
      const std::string option = std::string("--") + row.name;
      std::optional<std::string> text;
      if (words[i].starts_with(option + "="))
        text = words[i].substr(option.size() + 1);
      else if (words[i] == option && i + 1 < words.size())
        text = words[i + 1];
      else if (words[i] != option)
        continue;
      MSDBG_TRY(take(row.name, option, text));
    }
  }
  return Ok{};
}

}  // namespace

Status ProgramNumbers::take(std::string_view what, const std::string& origin, const std::string& text) {
  if (what == "steps") {
    MSDBG_ASSIGN(steps, number(origin, text, kSteps));
  } else if (what == "seed") {
    MSDBG_ASSIGN(seed, number(origin, text, kSeeds));
  } else if (what == "threads") {
    MSDBG_ASSIGN(threads, number(origin, text, kThreads));
  } else if (what == "backend") {
    const Result<core::BackendKind> kind = core::backendNamed(text);
    if (!kind.ok()) return kind.error().in(origin);
    backend = *kind;
  }
  return Ok{};
}

Status ProgramNumbers::takeArguments(const std::vector<std::string>& command) {
  return forEachSetting(command, [&](const char* name, const std::string& option, const auto& text) {
    if (text) return take(name, option, *text);
    const std::string example = std::string_view(name) == "backend" ? " cuda" : " 8";
    return Status(Error(ErrorCode::kUsage, option + " needs a value, such as " + option + example));
  });
}

ProgramNumbers programNumbers(const std::vector<std::string>& command) {
  ProgramNumbers numbers;
  (void)forEachSetting(command, [&](const char* name, const std::string& option, const auto& text) {
    ProgramNumbers one = numbers;
    if (text && one.take(name, option, *text).ok()) numbers = one;
    return Status(Ok{});
  });
  return numbers;
}

}  // namespace msdbg::dump
