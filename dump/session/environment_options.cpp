#include "dump/session/environment_options.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"

namespace msdbg::dump {

using core::Result;

namespace {

constexpr const char *kConfigVariable = "MSDBG_DUMP_CONFIG", *kOptionsVariable = "MSDBG_DUMP_OPTIONS";

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

}  // namespace

// The file first: what the variable with the options says itself replaces its keys.
Result<RecordOptions> environmentOptions(bool file) {
  RecordOptions options;
  if (const std::string path = environment(kConfigVariable); file && !path.empty()) {
    auto read = RecordOptions::fromFile(path, options);
    if (!read.ok()) return read.error().in(kConfigVariable);
    options = std::move(read).value();
  }
  if (const std::string json = environment(kOptionsVariable); !json.empty()) {
    auto read = RecordOptions::fromJson(json, options);
    if (!read.ok()) return read.error().in(kOptionsVariable);
    options = std::move(read).value();
  }
  return options;
}

std::string optionsText(const RecordOptions& options) {
  nlohmann::json json = nlohmann::json::parse(options.toJson());
  if (!options.policy) json.erase("policy");
  return json.dump();
}

void warnOfUnknownVariables() {
  const std::vector<std::string> known = {kConfigVariable, kOptionsVariable};
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("MSDBG_DUMP_") || std::ranges::find(known, name) != known.end()) continue;
    const std::string near = core::didYouMean(name, known);
    core::logWarn("the variable " + name + " means nothing" +
                  (near.empty() ? "; there are " + core::join(known, " and ") : near));
  }
}

}  // namespace msdbg::dump
