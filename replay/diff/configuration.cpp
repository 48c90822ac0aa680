#include "replay/diff/configuration.h"

#include <algorithm>
#include <map>

#include "core_engine/base/text.h"

namespace msdbg::replay {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class Comparing {
 public:
  void text(const std::string& what, const std::string& a, const std::string& b, bool numbers) {
    if (a != b) found.push_back({what, a, b, numbers});
  }
  void pairs(const std::string& what, const Pairs& a, const Pairs& b, bool numbers) {
    std::map<std::string, std::pair<std::string, std::string>> all;
    for (const auto& [key, value] : a) all[key].first = value;
    for (const auto& [key, value] : b) all[key].second = value;
    for (const auto& [key, values] : all) text(what + " " + key, values.first, values.second, numbers);
  }

  std::vector<ConfigurationDifference> found;
};

// Where the run lies says nothing of what was trained, nor does where msdbg was.
std::string comparableCommand(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "-o" || command[i] == "--output") {
      ++i;
      continue;
    }
    words.push_back(core::shellQuoted(i == 0 ? command[i].substr(command[i].rfind('/') + 1) : command[i]));
  }
  return core::join(words, " ");
}

// What one has and the other lacks.
std::string without(const std::vector<std::string>& all, const std::vector<std::string>& those) {
  std::vector<std::string> rest;
  for (const std::string& each : all)
    if (std::ranges::find(those, each) == those.end()) rest.push_back(each);
  return core::join(rest, " ");
}

Pairs cachesOf(const RunDescription& run) {
  Pairs pairs;
  for (const auto& [name, bytes] : run.caches) pairs.emplace_back(name, std::to_string(bytes));
  return pairs;
}

}  // namespace

std::vector<ConfigurationDifference> compareConfigurations(const RunDescription& a, const RunDescription& b) {
  Comparing c;
  c.text("model", a.model, b.model, true);
  c.pairs("option", a.modelOptions, b.modelOptions, true);
  c.text("seed", std::to_string(a.seed), std::to_string(b.seed), true);
  c.text("data", a.data, b.data, true);
  c.text("ranks", std::to_string(a.ranks), std::to_string(b.ranks), true);
  c.text("threads", std::to_string(a.threads), std::to_string(b.threads), true);
  c.text("backend", a.backend, b.backend, true);
  c.text("version", a.version, b.version, true);
  c.pairs("library", a.libraries, b.libraries, true);
  c.text("CPU", a.cpuModel, b.cpuModel, false);
  c.text("CPU features of one only", without(a.cpuFeatures, b.cpuFeatures),
         without(b.cpuFeatures, a.cpuFeatures), true);
  c.pairs("cache", cachesOf(a), cachesOf(b), true);
  c.text("passes", a.passes, b.passes, false);
  c.text("recomputed scopes", core::join(a.recompute, " "), core::join(b.recompute, " "), false);
  c.text("recorded", a.policyText, b.policyText, false);
  c.text("host", a.host, b.host, false);
  c.text("command", comparableCommand(a.command), comparableCommand(b.command), false);
  return std::move(c.found);
}

std::vector<SourceDifference> compareSources(const Run& a, const Run& b) {
  std::map<std::string, SourceDifference> files;
  for (const std::string& file : a.sourceFiles()) files[file] = {file, true, false};
  for (const std::string& file : b.sourceFiles()) {
    const auto [at, fresh] = files.try_emplace(file, SourceDifference{file, false, true});
    if (!fresh) at->second.inB = true;
  }
  std::vector<SourceDifference> found;
  for (const auto& [file, where] : files)
    if (!where.inA || !where.inB || a.sourceText(file) != b.sourceText(file)) found.push_back(where);
  return found;
}

}  // namespace msdbg::replay
