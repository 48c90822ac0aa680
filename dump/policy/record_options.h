// RecordOptions: everything that says what a recording holds and how large it may be. From the command line,
// a JSON file (resources/recording.schema.json) and the environment; said in run.json under `policy`, whose
// text is a config file as it stands. Values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/policy/on_hit.h"
#include "dump/policy/rules.h"
#include "dump/policy/writing_way.h"

namespace msdbg::dump {

/// What becomes of training when the recorder fails (a full disk, a folder that is gone).
enum class OnError { kContinue, kStop };

/// "stop", "continue". kUsage.
core::Result<OnError> onErrorFromText(const std::string& text);

/// Default: values and statistics of everything, values within maxBytes, newest kept.
struct RecordOptions {
  std::vector<Rule> rules;  // the first that fits decides
  /// Of what no rule fits. Unset: stats if there are rules and no `tensors`, else full.
  std::optional<Policy> policy;
  std::vector<std::string> tensors;  // with full: of the rest only these, statistics of the others
  /// What a run can be computed again from: how far checkpoints are apart (dump/policy/checkpoints.h), and
  /// the batches. Unset: both, checkpoints as kAuto, where replay() is true; else neither.
  static constexpr std::int64_t kAuto = -1, kNoCheckpoints = 0, kLongestInterval = 1'000'000'000'000;
  std::optional<std::int64_t> checkpointEvery;
  static constexpr double kLeastCommit = 1, kMostCommit = 3600;
  std::optional<bool> batches;
  core::IndexList iterations = core::IndexList::all();
  std::int64_t every = 1;                    // only iterations divisible by it are recorded at all
  std::uint64_t maxBytes = 2ull << 30;       // whole run, all ranks
  std::int64_t keepLast = 0;                 // values of so many newest recorded iterations; 0: no such limit
  std::optional<std::uint64_t> keepFree;     // of the disk; unset: 5 % of it, at most 1 GiB
  std::optional<OnError> onError;            // unset: kContinue, but kStop where nothing was recorded at all
  std::uint64_t bufferBytes = 512ull << 20;  // per rank
  bool compress = true;                      // where it pays; else nothing is
  std::optional<WritingWay> write;           // large values; unset: whichever is found fastest
  double commitSeconds = kLeastCommit;       // what is finished is on the disk after so long
  double watchdogSeconds = 30;               // without progress, until it is said; 0: never
  bool watchdogKills = false;                // and the run ended
  OnHit onHit;                               // values only near hits
  std::string
      otherKeys;  // a JSON object: keys of run.json's policy that this version cannot read; "" when none

  bool records(core::Iteration iteration) const {
    return iteration.value % every == 0 && iterations.contains(iteration.value);
  }
  std::string onErrorText() const { return onError == OnError::kStop ? "stop" : "continue"; }
  Policy restPolicy() const;
  /// Whether what is not stored is to be computable, unless somebody says otherwise. Where iterations are
  /// left out nothing leads from one recorded one to the next.
  bool replay() const {
    const Policy rest = restPolicy();
    return rest == Policy::kRecord || (rest != Policy::kNone && every == 1);
  }
  std::int64_t checkpoints() const { return checkpointEvery.value_or(replay() ? kAuto : kNoCheckpoints); }
  bool keepsBatches() const { return batches.value_or(replay()); }
  /// Whether any rule keeps a tensor's value.
  bool keepsValues() const;
  /// The rules, then what `policy` and `tensors` say as rules; the last one fits everything.
  std::vector<Rule> allRules() const;

  /// "auto", "none" or a whole number from 1. kUsage: it is none of these.
  static core::Result<std::int64_t> parseCheckpointEvery(const std::string& text);

  std::string toJson() const;
  /// Keys that are not there stay as in `base`; comments and `$schema` are allowed. kUsage: the line, the
  /// key, what is wrong with it and the nearest key or value.
  static core::Result<RecordOptions> fromJson(const std::string& json, const RecordOptions& base);
  static core::Result<RecordOptions> fromJson(const std::string& json);  // base: the defaults
  /// kUsage: as fromJson(), with the file's name; or it cannot be read.
  static core::Result<RecordOptions> fromFile(const std::filesystem::path& file, const RecordOptions& base);
};

/// "auto": where it pays; "none": nothing. kUsage.
core::Result<bool> compressFromName(std::string_view name);

}  // namespace msdbg::dump
