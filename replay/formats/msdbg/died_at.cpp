#include "replay/formats/msdbg/died_at.h"

#include <algorithm>
#include <array>

#include "core_engine/base/text.h"
#include "dump/commit_file.h"

namespace msdbg::replay {
namespace {

bool isOwn(std::string_view file) {
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "/msdbg/_"});
  return std::ranges::none_of(kOthers, [&](std::string_view part) { return file.find(part) != file.npos; });
}

/// `  File "/home/me/train.py", line 16 in die`; "" of another line, or of one that is not the user's.
std::string placeIn(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  const std::size_t end = line.find(kLine);
  if (!line.starts_with(kFile) || end == line.npos) return "";
  const std::string_view file = line.substr(kFile.size(), end - kFile.size());
  const std::string_view rest = line.substr(end + kLine.size());
  const std::size_t in = rest.find(kIn);
  if (!isOwn(file) || in == rest.npos) return "";
  return std::filesystem::path(file).filename().string() + ":" + std::string(rest.substr(0, in)) + " in " +
         std::string(rest.substr(in + kIn.size()));
}

}  // namespace

std::string diedAt(std::string_view text) {
  for (const std::string& line : core::split(text.substr(0, text.rfind("Extension modules:")), '\n'))
    if (std::string place = placeIn(line); !place.empty()) return place;
  return "";
}

namespace {

core::Result<std::string> readDied(const std::filesystem::path& run, core::Rank rank) {
  constexpr std::size_t kMostBytes = 1 << 20;
  return dump::readFile(run / "stacks" / ("died_rank_" + std::to_string(rank.value) + ".txt"), kMostBytes);
}

}  // namespace

std::string fatalErrorOf(const std::filesystem::path& run, core::Rank rank) {
  constexpr std::string_view kFatal = "Fatal Python error: ";
  const auto text = readDied(run, rank);
  if (!text.ok() || !text->starts_with(kFatal)) return "";
  return core::printable(text->substr(kFatal.size(), text->find('\n') - kFatal.size()));
}

std::string diedAtText(const std::filesystem::path& run, core::Rank rank) {
  const auto text = readDied(run, rank);
  const std::string place = text.ok() ? diedAt(*text) : "";
  return place.empty() ? "" : "; Python was at " + core::printable(place);
}

}  // namespace msdbg::replay
