// What a run says of itself, whoever wrote it: how it was made and ended, what is missing of it, what its
// recorder left behind. Values; thread-safe as such.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/iteration_set.h"

namespace msdbg::replay {

/// How a run, or one rank of it, ended.
struct RunEnd {
  std::string state = "running";  // running | finished | stopped | failed | killed
  std::string message = {};  // exception text or reason: "rank 1 was killed by signal 9 (Killed) at node …"
  std::optional<int> exitStatus = {}, signal = {};
  std::optional<std::int64_t> rank = {};  // the rank that ended the run
  std::string node = {};                  // full name of the node it was at, if known
  std::optional<std::int64_t> iteration = {};
  std::string condition = {}, tensor = {};  // of the hit that training stopped on

  bool good() const { return state == "finished" || state == "stopped"; }  // as its user wanted it
};

/// What was trained, on what, and what of it was to be recorded. Texts are as the recorder wrote them, and
/// empty where it did not.
struct RunDescription {
  std::string id;       // of the run, 32 hexadecimal digits; "": its format has none
  std::string format;   // of the recording: "1.2"
  std::string version;  // of the recorder
  std::vector<std::string> command;
  std::string model;                                              // a built-in one; "" for a user's program
  std::vector<std::pair<std::string, std::string>> modelOptions;  // "batch" -> "64"
  std::string host, startedAt, endedAt;                           // ISO 8601 UTC
  std::string cpuModel;
  std::vector<std::string> cpuFeatures;
  std::vector<std::pair<std::string, std::int64_t>> caches;    // "l2" -> bytes
  std::vector<std::pair<std::string, std::string>> libraries;  // "dnnl" -> "2.6.3 avx512_core"
  int ranks = 1, threads = 1;                                  // that trained; threads of each
  std::string backend = "cpu";                                 // what computed: "cpu", "cuda"
  std::uint64_t seed = 0;
  std::string data;
  std::vector<std::string> faults;     // planted; no analysis reads them
  std::string passes;                  // over the plan that were off: "-memory"; "" none
  std::vector<std::string> recompute;  // scopes whose activations were computed again
  std::string policy;                  // what was to be recorded: a JSON object of the recorder's own
  std::string policyText;              // the same for people: "*=stats; values within 2.0 GB"
  std::uint64_t maxBytes = 0;          // that the recording was to take; 0: no limit
  /// As the whole run's own file has it; Run::end() knows more.
  RunEnd end;
};

/// What cannot be read.
struct Damage {
  std::string where;              // "rank_0/segment_000003.h5: /tensor/network/conv1/weight:0"
  std::string what;               // "chunk 4 does not match its hash"
  core::Rank rank;                // invalid: of the whole run
  core::IterationSet iterations;  // those that it costs
};

/// Iterations that the rank's recorder had to give up.
struct Gap {
  core::Rank rank;
  core::IterationSet iterations;
  std::string why;             // path and the system's reason
  double from = 0, until = 0;  // Unix time, s: the first failure, and when recording went on
};

/// The rank's training began again among iterations that were recorded already; the later ones count.
struct Restart {
  core::Rank rank;
  std::int64_t iteration = 0, newest = 0;  // where it began again; the newest recorded before
};

/// A condition that hit while the run was recorded.
struct RecordedHit {
  core::Rank rank;
  std::int64_t iteration = 0;
  std::string condition;     // as it was asked for: `gradient_vanishing:abs_mean_lt=1e-09`
  std::string tensor, node;  // full names; node "" for sources
  std::string parameter;     // of the condition, which was exceeded; "" where there is none
  double preset = 0, actual = 0;
  std::int64_t count = 0;  // wrong elements, when known
  std::string detail;
};

/// What is left of a rank's statistics, where older ones had to go.
struct Thinning {
  struct Part {
    std::int64_t step = 0;             // every so many-th iteration has them
    std::int64_t first = 0, last = 0;  // iterations of this part
  };
  std::int64_t whole = 0;   // so many of the newest iterations have all
  std::vector<Part> parts;  // newest first; empty: nothing is gone
  std::int64_t others = 0;  // iterations of the parts that have them besides: hits and outliers
};

/// Where the value of a tensor is recorded: as such, or as a part of what the iteration can be computed again
/// from.
enum class ValueOrigin { kTensor, kCheckpoint, kBatch };

/// In bytes.
struct Storage {
  std::uint64_t raw = 0, stored = 0, files = 0;  // raw, stored: of values that are kept as such
  std::uint64_t states = 0, batches = 0;         // of checkpoints and batches, raw
  std::int64_t segments = 0;                     // number of files with iterations
};

/// A rank stands at `index` of `size` along this axis of a mesh of ranks ("dp", "tp").
struct MeshAxis {
  std::string name;
  int index = 0, size = 1;
};
/// "dp 1/2, tp 0/4"; "" without axes.
std::string meshText(const std::vector<MeshAxis>& axes);

/// Where the time of recording went, on one rank.
struct RecordingTimes {
  struct Stage {
    std::string name;  // "statistics"
    double seconds = 0;
    std::uint64_t bytes = 0;
  };
  double wallSeconds = 0;  // from the first iteration to the end of recording
  std::vector<Stage> stages;
  std::string writtenBy;  // how large values were written in the end: "training's threads, page cache"; or ""

  const Stage& operator[](const std::string& name) const;  // one without time where there is none
  double seconds() const;                                  // of all stages; those of two threads overlap
};

struct CheckpointInterval {
  std::int64_t iterations = 0;  // from one to the next
  std::uint64_t bytes = 0;      // of one, raw
};

/// What Growing::refresh() found.
struct RunGrowth {
  bool any = false;         // iterations, ranks, how it ended
  bool newerGraph = false;  // open the run again to have it: graph() stays as it is
};

}  // namespace msdbg::replay
