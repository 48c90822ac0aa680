// ForeignSettings: what a program of another framework tells when its recording begins. Values.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"

namespace msdbg::dump {

struct ForeignSettings {
  std::filesystem::path run;
  core::Rank rank{0};
  int ranks = 1;
  std::vector<std::string> command;
  bool launcher = false;  // somebody else made the folder, and writes into run.json how the run ended
  bool create = false;    // this rank makes the folder
  std::string runId;      // of the run that it belongs to; "": it is the one that makes it
  std::vector<std::pair<std::string, std::string>> libraries;  // "torch" -> "2.15.0"
  std::string backend;                                         // what computes: "pytorch cpu"
  std::uint64_t seed = 0;
  int threads = 1;  // that statistics may use

  /// JSON as ForeignRecording's users write it (dump/python/README.md). kUsage: the key and what it should
  /// be.
  static core::Result<ForeignSettings> fromJson(const std::string& json);
};

}  // namespace msdbg::dump
