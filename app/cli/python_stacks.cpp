#include "app/cli/python_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/rank_folders.h"
#include "dump/commit_file.h"

namespace msdbg::app {

namespace fs = std::filesystem;
using core::Result;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kMostBytes = 4 << 20;  // of an answer
constexpr std::size_t kMostRanks = 4096;
constexpr auto kPoll = std::chrono::milliseconds(50);

fs::path folderOf(const fs::path& run) { return run / "stacks"; }

template <typename T>
T valueOr(const Json& object, const char* name, T otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) return found->is_string() ? found->get<T>() : otherwise;
  if constexpr (std::is_same_v<T, bool>) return found->is_boolean() ? found->get<T>() : otherwise;
  if constexpr (std::is_same_v<T, std::int64_t>)
    return found->is_number_integer() ? found->get<T>() : otherwise;
}

std::vector<Json> rowsOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  std::vector<Json> rows;
  if (found != object.end() && found->is_array())
    std::ranges::copy_if(*found, std::back_inserter(rows), [](const Json& row) { return row.is_object(); });
  return rows;
}

ThreadStack threadOf(const Json& json) {
  ThreadStack thread{valueOr(json, "name", std::string()), {}};
  for (const Json& row : rowsOf(json, "frames"))
    thread.frames.push_back({valueOr(row, "file", std::string()), valueOr(row, "function", std::string()),
                             valueOr(row, "code", std::string()), valueOr(row, "line", std::int64_t{0}),
                             valueOr(row, "own", false)});
  return thread;
}

std::optional<RankStacks> answerIn(const fs::path& file, int rank, std::int64_t request) {
  const Result<std::string> text = dump::readFile(file, kMostBytes);
  if (!text.ok()) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || valueOr(json, "request", std::int64_t{-1}) != request) return std::nullopt;
  RankStacks found{
      rank, valueOr(json, "pid", std::int64_t{0}), valueOr(json, "iteration", std::int64_t{0}), {}};
  for (const Json& row : rowsOf(json, "threads")) found.threads.push_back(threadOf(row));
  return found;
}

}  // namespace

std::string RankStacks::place() const {
  if (threads.empty() || threads[0].frames.empty()) return "";
  const std::vector<StackFrame>& frames = threads[0].frames;
  const auto own = std::ranges::find(frames, true, &StackFrame::own);
  const StackFrame& frame = own == frames.end() ? frames.front() : *own;
  return fmt::format("{}:{} in {}{}{}", fs::path(frame.file).filename().string(), frame.line, frame.function,
                     frame.code.empty() ? "" : ": ", frame.code);
}

Result<std::int64_t> askForStacks(const fs::path& run) {
  std::error_code failed;
  fs::create_directory(folderOf(run), failed);  // what is wrong with it, writing will say
  const std::int64_t request =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
  MSDBG_TRY(dump::commitFile(folderOf(run) / "wanted", std::to_string(request)));
  return request;
}

std::vector<RankStacks> answeredStacks(const fs::path& run, std::int64_t request) {
  std::vector<RankStacks> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folderOf(run), ignored)) {
    const std::string name = entry.path().filename().string();
    int rank = -1, end = 0;
    if (std::sscanf(name.c_str(), "rank_%d.json%n", &rank, &end) != 1 || end != static_cast<int>(name.size()))
      continue;
    if (rank < 0 || all.size() >= kMostRanks) continue;
    if (auto found = answerIn(entry.path(), rank, request)) all.push_back(*std::move(found));
  }
  std::ranges::sort(all, {}, &RankStacks::rank);
  return all;
}

Result<std::vector<RankStacks>> stacksOf(const fs::path& run, std::size_t ranks,
                                         std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  MSDBG_ASSIGN(const std::int64_t request, askForStacks(run));
  std::vector<RankStacks> found;
  do {
    std::this_thread::sleep_for(kPoll);
    found = answeredStacks(run, request);
  } while (found.size() < ranks && std::chrono::steady_clock::now() < until);
  return found;
}

}  // namespace msdbg::app
