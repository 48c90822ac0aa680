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
  std::string config, policy, checkpointEvery, iterations, maxSize, keepFree, onError, buffer, compress,
      write;
  std::vector<std::string> rules, tensors, onHit;
  std::optional<std::int64_t> before, after;
  bool stopOnHit = false;
  std::optional<bool> batches;
  std::optional<std::int64_t> every, keepLast;
  std::optional<double> watchdog;

  void addOptions(CLI::App& app);
  /// The config file (--config, else MSDBG_DUMP_CONFIG), then the flags; --record goes before its rules.
  /// kUsage names the flag, or file, line and key.
  core::Result<dump::RecordOptions> read() const;
  /// kNotFound: a glob of --tensors or a rule of --record means no tensor of the graph; nearest names.
  core::Status check(const core::Graph& graph) const;
};

}  // namespace msdbg::app
