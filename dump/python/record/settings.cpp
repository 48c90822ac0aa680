#include "dump/python/record/settings.h"

#include <nlohmann/json.hpp>

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Result;

// Only our own package writes it, so a mistake is one of the package.
Result<ForeignSettings> ForeignSettings::fromJson(const std::string& text) {
  try {
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    ForeignSettings settings;
    settings.run = json.at("run").get<std::string>();
    settings.rank = core::Rank(json.value("rank", std::int64_t{0}));
    settings.ranks = json.value("ranks", 1);
    settings.command = json.value("command", std::vector<std::string>());
    settings.launcher = json.value("launcher", false);
    settings.create = json.value("create", false);
    settings.runId = json.value("run_id", std::string());
    settings.backend = json.value("backend", std::string("pytorch"));
    settings.seed = json.value("seed", std::uint64_t{0});
    settings.threads = json.value("threads", 1);
    if (json.contains("libraries"))
      for (const auto& [name, version] : json["libraries"].items())
        settings.libraries.emplace_back(name, version.get<std::string>());
    if (json.contains("level")) settings.libraries.emplace_back("level", json["level"].get<std::string>());
    if (settings.run.empty() || settings.ranks < 1 || settings.threads < 1 || !settings.rank.valid() ||
        settings.rank.value >= settings.ranks)
      return Error(ErrorCode::kUsage, "settings: run, rank, ranks or threads are out of range: " + text);
    return settings;
  } catch (const nlohmann::json::exception& wrong) {
    return Error(ErrorCode::kUsage, std::string("settings: ") + wrong.what());
  }
}

}  // namespace msdbg::dump
