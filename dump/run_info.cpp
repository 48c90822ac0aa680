#include "dump/run_info.h"

#include <algorithm>
#include <stdexcept>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/commit_file.h"
#include "dump/journal.h"
#include "dump/policy/record_options_internal.h"

namespace msdbg::dump {
namespace {

constexpr std::size_t kLargestRunInfo = 16u << 20;
constexpr int kMostRanks = 65536;
constexpr const char* kNotItsCheck = "the text does not match its own check: it was changed or damaged";

using TextPairs = std::vector<std::pair<std::string, std::string>>;

// "" for absent, null for an optional that is empty: a reader of the JSON finds every key.
template <typename T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json pairsToJson(const TextPairs& pairs) {
  Json json = Json::object();
  for (const auto& [name, text] : pairs) json[name] = text;
  return json;
}

TextPairs pairsFromJson(const Json& json, const char* key) {
  TextPairs pairs;
  if (!json.contains(key)) return pairs;
  for (const auto& [name, text] : json.at(key).items()) pairs.emplace_back(name, text.get<std::string>());
  return pairs;
}

Json cachesToJson(const std::vector<std::pair<std::string, std::int64_t>>& caches) {
  Json json = Json::object();
  for (const auto& [name, bytes] : caches) json[name] = bytes;
  return json;
}

std::vector<std::pair<std::string, std::int64_t>> cachesFromJson(const Json& json) {
  std::vector<std::pair<std::string, std::int64_t>> caches;
  if (!json.contains("caches")) return caches;
  for (const auto& [name, bytes] : json.at("caches").items())
    caches.emplace_back(name, as<std::int64_t>(bytes));
  return caches;
}

Json infoToJson(const RunInfo& info) {
  return {{"format", {info.formatMajor, info.formatMinor}},
          {"id", info.id},
          {"version", info.version},
          {"command", info.command},
          {"model", info.model},
          {"model_options", pairsToJson(info.modelOptions)},
          {"working_directory", info.workingDirectory},
          {"host", info.host},
          {"started_at", info.startedAt},
          {"ended_at", info.endedAt},
          {"cpu_model", info.cpuModel},
          {"cpu_features", info.cpuFeatures},
          {"caches", cachesToJson(info.caches)},
          {"libraries", pairsToJson(info.libraries)},
          {"ranks", info.ranks},
          {"threads", info.threads},
          {"backend", info.backend},
          {"seed", info.seed},
          {"data", info.data},
          {"policy", optionsToJson(info.policy)},
          {"faults", info.faults},
          {"passes", info.passes},
          {"recompute", info.recompute},
          {"end", endToJson(info.end)}};
}

void readTexts(const Json& json, RunInfo& info) {
  info.id = field<std::string>(json, "id", "");
  info.version = field<std::string>(json, "version", "");
  info.command = field(json, "command", info.command);
  info.model = field<std::string>(json, "model", "");
  info.modelOptions = pairsFromJson(json, "model_options");
  info.workingDirectory = field<std::string>(json, "working_directory", "");
  info.host = field<std::string>(json, "host", "");
  info.startedAt = field<std::string>(json, "started_at", "");
  info.endedAt = field<std::string>(json, "ended_at", "");
  info.cpuModel = field<std::string>(json, "cpu_model", "");
  info.cpuFeatures = field(json, "cpu_features", info.cpuFeatures);
  info.caches = cachesFromJson(json);
  info.libraries = pairsFromJson(json, "libraries");
  info.data = field<std::string>(json, "data", "");
  info.faults = field(json, "faults", info.faults);
  info.passes = field<std::string>(json, "passes", "");
  info.recompute = field(json, "recompute", info.recompute);
}

// Keys that this version does not write itself.
std::string unknownKeys(const Json& json) {
  Json other = Json::object();
  const Json known = infoToJson(RunInfo());
  for (const auto& [key, value] : json.items()) {
    if (key != "check" && key != "hosts" && !known.contains(key)) other[key] = value;
  }
  return other.empty() ? std::string() : jsonText(other);
}

RunInfo infoFromJson(const Json& json) {
  RunInfo info;
  info.formatMajor = as<int>(json.at("format").at(0));
  info.formatMinor = as<int>(json.at("format").at(1));
  if (info.formatMajor > kFormatMajor) return info;  // nothing else of it can be relied on
  readTexts(json, info);
  info.ranks = field(json, "ranks", info.ranks);
  if (info.ranks < 1 || info.ranks > kMostRanks) throw std::runtime_error("impossible number of ranks");
  info.threads = field(json, "threads", info.threads);
  info.backend = field(json, "backend", info.backend);
  info.seed = field(json, "seed", info.seed);
  if (json.contains("policy")) info.policy = optionsOfRun(json.at("policy"), info.formatMinor > kFormatMinor);
  if (json.contains("end")) info.end = endFromJson(json.at("end"));
  if (json.contains("hosts") && json.at("hosts").is_array()) info.hosts = jsonText(json.at("hosts"));
  info.otherKeys = unknownKeys(json);
  return info;
}

// The character whose first byte is there, as a terminal may show it.
std::string characterAt(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && end < at + 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return core::printable(text.substr(at, end - at));
}

}  // namespace

std::string plainText(const std::exception& problem) {
  const std::string_view what = problem.what();
  const std::size_t end = what.starts_with("[json.exception.") ? what.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? what : what.substr(end + 2));
}

std::string breakText(std::string_view text, const Json::parse_error& problem) {
  const std::size_t at = std::min(problem.byte - std::min<std::size_t>(problem.byte, 1), text.size());
  const std::string_view before = text.substr(0, at);
  const std::size_t lineStart = before.rfind('\n') + 1;  // 0 where there is no line end before
  const std::string place = "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
                            std::to_string(at - lineStart + 1) + ": ";
  if (at == text.size()) return place + "the text ends too early";
  if (std::string_view(problem.what()).find("UTF-8") != std::string_view::npos)
    return place + "this is no UTF-8 text";
  return place + "'" + characterAt(text, at) + "' is not expected here";
}

Json endToJson(const RunEnd& end) {
  Json json = {{"state", end.state},
               {"message", end.message},
               {"exit_status", orNull(end.exitStatus)},
               {"signal", orNull(end.signal)},
               {"rank", orNull(end.rank)},
               {"node", end.node},
               {"iteration", orNull(end.iteration)}};
  if (!end.onHit()) return json;
  json["condition"] = end.condition;
  json["tensor"] = end.tensor;
  return json;
}

RunEnd endFromJson(const Json& json) {
  if (!json.is_object()) throw std::runtime_error("an end that is no object");
  RunEnd end;
  end.state = field<std::string>(json, "state", "running");
  end.message = field<std::string>(json, "message", "");
  end.exitStatus = optionalField<int>(json, "exit_status");
  end.signal = optionalField<int>(json, "signal");
  end.rank = optionalField<std::int64_t>(json, "rank");
  end.node = field<std::string>(json, "node", "");
  end.iteration = optionalField<std::int64_t>(json, "iteration");
  end.condition = field<std::string>(json, "condition", "");
  end.tensor = field<std::string>(json, "tensor", "");
  return end;
}

// The check is made over the text without it, exactly as in the journal; only the layout is for people.
std::string RunInfo::toJson() const {
  Json json = infoToJson(*this);
  if (!hosts.empty()) json["hosts"] = Json::parse(hosts, nullptr, false);
  if (!otherKeys.empty()) {
    const auto other = guarded(otherKeys, [](const Json& keys) { return keys; });
    if (other.ok()) json.update(*other);
  }
  const std::string object = jsonText(json, 2);
  return withCheck(object) + "\n";
}

core::Result<RunInfo> RunInfo::fromJson(const std::string& json, const std::string& origin) {
  auto info = guarded(json, infoFromJson);
  if (!info.ok())
    return core::Error(info.error().code(),
                       origin + ": " + info.error().message() + "; restore the file from a copy of the run");
  if (info->formatMajor > kFormatMajor) {
    return core::Error(core::ErrorCode::kUnsupported,
                       origin + ": run format " + std::to_string(info->formatMajor) + "." +
                           std::to_string(info->formatMinor) + " is newer than what this msdbg reads (" +
                           std::to_string(kFormatMajor) + ".x): use a newer msdbg");
  }
  return info;
}

namespace {

// Whether the text ends in a check that is right.
bool matchesCheck(std::string_view text) {
  return text.ends_with('\n') && withoutCheck(text.substr(0, text.size() - 1));
}

// The folders of ranks, in the order of their numbers.
std::vector<std::filesystem::path> rankFolders(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rank_") && entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, {}, [](const auto& path) {
    const std::string name = path.filename().string();
    return std::pair(name.size(), name);
  });
  return folders;
}

// A copy that says how the run ended before one that was written at its beginning.
std::optional<RunInfo> bestCopy(const std::filesystem::path& run, const std::string& why) {
  std::optional<RunInfo> best;
  for (const std::filesystem::path& folder : rankFolders(run)) {
    const auto text = readFile(folder / "run.json", kLargestRunInfo);
    if (!text.ok() || !matchesCheck(*text)) continue;
    auto info = RunInfo::fromJson(*text, (folder / "run.json").string());
    if (!info.ok() || (best && (best->end.state != "running" || info->end.state == "running"))) continue;
    best = std::move(*info);
    best->damage = why + ": the copy in " + folder.filename().string() + " is used";
  }
  return best;
}

}  // namespace

core::Result<RunInfo> readRunInfo(const std::filesystem::path& runFolder) {
  const std::filesystem::path file = runFolder / "run.json";
  const auto text = readFile(file, kLargestRunInfo);
  const bool missing = !text.ok() && text.error().code() == core::ErrorCode::kMissing;
  auto info = text.ok() ? RunInfo::fromJson(*text, file.string()) : core::Result<RunInfo>(text.error());
  if (info.ok() && matchesCheck(*text)) return info;
  if (!info.ok() && info.error().code() == core::ErrorCode::kUnsupported) return info;
  const std::string why = missing ? "is missing" : text.ok() ? kNotItsCheck : text.error().message();
  if (std::optional<RunInfo> copy = bestCopy(runFolder, why)) return std::move(*copy);
  if (missing)
    return core::Error(core::ErrorCode::kDamaged,
                       runFolder.string() + ": no run.json: this is not a run folder");
  if (info.ok()) info->damage = why;
  return info;
}

core::Result<RunInfo> readRunInfoToEnd(const std::filesystem::path& runFolder, const std::string& id) {
  MSDBG_ASSIGN(RunInfo info, readRunInfo(runFolder));
  if (info.id == id) return info;
  return core::Error(core::ErrorCode::kMissing, runFolder.string() +
                                                    " is another run now (this one was moved or removed): " +
                                                    "how this one ended is not noted");
}

core::Status verifyRunInfo(const std::filesystem::path& runFolder) {
  MSDBG_ASSIGN(const std::string text, readFile(runFolder / "run.json", kLargestRunInfo));
  if (matchesCheck(text)) return core::Ok{};
  return core::Error(core::ErrorCode::kDamaged, kNotItsCheck);
}

core::Status writeRunInfo(const std::filesystem::path& runFolder, const RunInfo& info) {
  const std::string text = info.toJson();
  MSDBG_TRY(commitFile(runFolder / "run.json", text));
  for (const std::filesystem::path& folder : rankFolders(runFolder))
    if (const core::Status copied = commitCopy(folder / "run.json", text); !copied.ok())
      core::logWarn("a copy of run.json was not written: " + copied.error().message());
  return core::Ok{};
}

core::Status copyRunInfo(const std::filesystem::path& runFolder, const std::filesystem::path& rankFolder) {
  MSDBG_ASSIGN(const std::string text, readFile(runFolder / "run.json", kLargestRunInfo));
  return commitCopy(rankFolder / "run.json", text);
}

}  // namespace msdbg::dump
