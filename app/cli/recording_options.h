// The options of `msdbg dump` that say what is recorded: flags, rules, a config file. Main thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "dump/policy/record_options.h"

namespace msdbg::app {

/// As given; what is not given is the config file's, else the default.
struct RecordingOptions {
  std::string config, policy, statistics, checkpointEvery, iterations, maxSize, keepFree, onError, buffer,
      compress, write;
  std::vector<std::string> rules, tensors, onHit;
  std::optional<std::int64_t> before, after;
  bool stopOnHit = false;
  std::optional<bool> batches;
  bool noReplay = false;
  std::optional<std::int64_t> every, keepLast;
  std::optional<double> watchdog, commitEvery;
  bool watchdogKill = false;

  void addOptions(CLI::App& app);
  /// The environment (dump::environmentOptions), the config file, which replaces MSDBG_DUMP_CONFIG, then the
  /// flags; --record goes before the rules of both. kUsage names the flag, or file, line and key.
  core::Result<dump::RecordOptions> read() const;
  /// The first of dump::ruleMistakes() in --tensors or --record. Those of a config, which may have been
  /// written for several models, are lines to warn with; none unless `dryRun`, for the recorder warns itself.
  core::Result<std::vector<std::string>> check(const core::Graph& graph, const dump::RecordOptions& record,
                                               bool dryRun) const;
};

/// No option of the command takes an empty text, such as a variable of the shell that is not set.
void refuseEmptyValues(CLI::App& app);
/// A check of an option: CLI11 takes what is beyond all numbers for the largest.
std::string notTooLarge(const std::string& text);

}  // namespace msdbg::app
