// run.json as a value: what ran, on what, how it ended. Both writer and reader use it. Unknown keys are kept
// when the file is rewritten. Written by replacing (temporary name, fsync, rename).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "dump/policy/record_options.h"

namespace msdbg::dump {

inline constexpr int kFormatMajor = 1, kFormatMinor = 2;

struct RunEnd {
  std::string state = "running";  // running | finished | stopped | failed | killed
  std::string message =
      {};  // exception text or reason: "rank 1 was killed by signal 9 (Killed) at node … in iteration 5"
  std::optional<int> exitStatus = {}, signal = {};
  std::optional<std::int64_t> rank = {};  // the rank that ended the run
  std::string node = {};                  // full name of the node it was at, if known
  std::optional<std::int64_t> iteration = {};
  std::string condition = {}, tensor = {};  // of the hit that training stopped on (--stop-on-hit)

  bool onHit() const { return !condition.empty(); }
};

struct RunInfo {
  int formatMajor = kFormatMajor, formatMinor = kFormatMinor;
  std::string id;       // 32 hexadecimal digits, the same in the folders of all hosts; "" before format 1.1
  std::string version;  // msdbg's
  std::vector<std::string> command;
  std::string model;                                              // "" for a user's program
  std::vector<std::pair<std::string, std::string>> modelOptions;  // "batch" -> "64"; since format 1.1
  std::string workingDirectory, host, startedAt /* ISO 8601 UTC */, endedAt;
  std::string cpuModel;
  std::vector<std::string> cpuFeatures;
  std::vector<std::pair<std::string, std::int64_t>> caches;    // "l2" -> bytes; since format 1.2
  std::vector<std::pair<std::string, std::string>> libraries;  // "dnnl" -> "2.6.3 avx512_core"
  int ranks = 1, threads = 1;
  std::string backend = "cpu";  // what computed, as core::backendName() has it; since format 1.2
  std::uint64_t seed = 0;
  std::string data;
  RecordOptions policy;
  std::vector<std::string> faults;     // planted; no analysis reads them
  std::string passes;                  // over the plan that were off: "-memory"; "" none
  std::vector<std::string> recompute;  // scopes whose activations were computed again; like passes no number
                                       // depends on it
  RunEnd end;
  std::string hosts;      // a JSON list, of a run that was merged: host, ranks, CPU of each part; "" else
  std::string otherKeys;  // a JSON object: keys that this version does not know; "" when none
  /// Not in the file: what is wrong with run.json, and which copy of it this is; "" when nothing.
  std::string damage;

  /// The file's text; its last key is a check of the rest (dump/FORMAT.md).
  std::string toJson() const;
  static core::Result<RunInfo> fromJson(const std::string& json, const std::string& origin);
};

/// Where run.json is gone, or not what its check says, the copy of a rank takes its place and RunInfo::damage
/// says so; where there is none, a changed text is read as far as it can be. kDamaged: no run.json, or it
/// cannot be understood, and no copy; kUnsupported: a newer major format version.
core::Result<RunInfo> readRunInfo(const std::filesystem::path& runFolder);
/// Before the end of the run with this id is written there: the file at a path may have become another run's.
/// kMissing: it has.
core::Result<RunInfo> readRunInfoToEnd(const std::filesystem::path& runFolder, const std::string& id);
/// Whether the file has the text that its own check says. kDamaged otherwise.
core::Status verifyRunInfo(const std::filesystem::path& runFolder);
/// run.json, and its copy in the folder of each rank that is there; a copy that fails is a warning.
core::Status writeRunInfo(const std::filesystem::path& runFolder, const RunInfo& info);
/// For a rank's folder that was just made. An error is no reason not to record.
core::Status copyRunInfo(const std::filesystem::path& runFolder, const std::filesystem::path& rankFolder);

}  // namespace msdbg::dump
