// Retention: what of a rank's committed segments stays on disk. Values go segment by segment; where that is
// not enough, statistics thin with age (thinning_plan.h), then every second checkpoint goes, then batches
// (replay_plan.h). Pure bookkeeping, no files and no clock: SegmentStore reports what is on disk and does
// what is answered. Used by the background thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core_engine/base/iteration_set.h"

namespace msdbg::dump {

/// A committed segment, as far as keeping and merging depend on it.
struct KeptSegment {
  std::int64_t segment = 0;  // its number
  std::int64_t graph = 0;    // version
  std::int64_t first = 0, last = 0, iterations = 0;
  std::uint64_t bytes = 0;        // of the file
  std::uint64_t tensorBytes = 0;  // of these, that values take
  bool values = false;            // it holds tensors
  bool dropped = false;           // it held them once
  int level = 0;                  // how often its content was merged
  bool alone = false;             // cannot be merged with the next one
  std::int64_t step = 1;  // of its time, so many iterations apart keep their statistics; outliers besides
  bool bare = false;      // these are not in it, but those that lost them
  bool stays = false;     // it cannot be thinned
  std::shared_ptr<const core::IterationSet> which = {};  // its iterations
  core::IterationSet checkpoints = {}, batches = {};     // those that have one
  std::uint64_t stateBytes = 0, batchBytes = 0;          // of these, raw
  std::uint64_t replayBytes = 0;                         // of the file, that these take
  bool replayStays = false;                              // it cannot be written again without them

  std::uint64_t rowBytes() const { return bytes - std::min(bytes, replayBytes); }
};

struct ThinningPlan;
struct ReplayPlan;

/// For what there is to be room.
struct Need {
  std::uint64_t incoming = 0;  // so many more bytes are to fit into the budget; of these
  std::uint64_t replay = 0;    // are checkpoints and batches
  std::uint64_t disk = 0;      // > 0: so many are missing on the disk, whatever the budget says
};

/// What a rule says of the values of an iteration; the answer may change from kUndecided, and upwards. Where
/// there is too much, kLate goes after what is kYes, and kLast stays, also rather than the newest.
enum class Keep { kNo, kUndecided, kYes, kLate, kLast };

struct RetentionRules {
  std::uint64_t maxBytes = std::numeric_limits<std::uint64_t>::max();  // of this rank's folder
  std::int64_t keepLast = 0;  // values of so many newest recorded iterations; 0: of all
  /// The most that is said of any iteration from `first` to `last`, those of one segment. While that is not
  /// kNo, the segment keeps its values; it is merged with others once it is kYes or more. Empty: kYes.
  std::function<Keep(std::int64_t first, std::int64_t last)> keep = {};
  /// Of what there is for statistics, checkpoints and batches, the quarters that statistics have in any case.
  int quartersForRows = 1;
};

class Retention {
 public:
  explicit Retention(RetentionRules rules) : m_rules(std::move(rules)) {}

  /// The newest segment. Segments come in the order of their iterations.
  void add(const KeptSegment& segment);
  /// The iteration follows from none before it.
  void beginsAnew(std::int64_t iteration) { m_anew.push_back(iteration); }
  /// `segment` stands from now on for `old` (segment numbers, neighbours, oldest first).
  void replace(std::span<const std::int64_t> old, const KeptSegment& segment);
  /// These neighbours (oldest first) cannot be one file: not tried again until one of them loses its values.
  void cannotMerge(std::span<const std::int64_t> segments);

  /// Its values, checkpoints and batches stay, whatever the rules say.
  void cannotDrop(std::int64_t segment);
  /// No rule wants anything of it but statistics: checkpoints and batches go with its values.
  bool unwanted(std::int64_t segment) const;
  /// So do its statistics.
  void cannotThin(std::span<const std::int64_t> segments);
  /// The statistics of `old` were thinned: these stand for them from now on.
  void thin(std::span<const std::int64_t> old, std::span<const KeptSegment> segments);
  /// What is on the disk besides segments: the journal, the graph.
  /// What values may take of the budget now.
  std::uint64_t roomForValues() const;
  void setOtherBytes(std::uint64_t bytes) { m_otherBytes = bytes; }

  /// The segment whose values are to go next, so that the rules hold; with `incoming`: and so many more bytes
  /// fit into the budget. Of that, values may have what statistics leave, but a quarter in any case.
  /// `diskShort`: the disk lacks space, so one goes although the rules hold. nullopt: nothing to do, or
  /// nothing left that could go.
  std::optional<std::int64_t> nextDrop(std::uint64_t incoming, bool diskShort = false) const;
  /// Whether statistics, with so many more bytes of them, are more than what values and the rest leave of the
  /// budget. Values that are kept have a quarter of it.
  bool statisticsExceed(const Need& need) const;
  /// The segments whose statistics are to be thinned next.
  ThinningPlan nextThinning(const Need& need) const;
  /// Whether everything is more than the budget; once statistics thinned as far as they do, it is because of
  /// checkpoints and batches.
  bool exceeds(const Need& need) const;
  /// The checkpoints and batches that are to go next.
  enum class Newest { kMayGo, kStays };  // checkpoint, and what is computed from it
  ReplayPlan nextReplay(const Need& need, Newest newest = Newest::kMayGo) const;
  /// Batches that no checkpoint leads to any more, of one segment.
  ReplayPlan nextUseless() const;
  /// Neighbours that are to become one file next, oldest first; empty: none.
  std::vector<std::int64_t> nextMerge() const;

  const KeptSegment& segment(std::int64_t number) const { return m_segments[find(number)]; }
  const std::vector<KeptSegment>& segments() const { return m_segments; }
  std::uint64_t bytes() const { return m_bytes; }  // on disk, of segments
  /// About as many go with all values, and the checkpoints and batches before the newest checkpoint.
  std::uint64_t olderBytes() const;
  /// What is left when nothing can be thinned any more: scalars, digests, hashes of batches, and the rest.
  std::uint64_t leastBytes() const;
  /// Whether the run is to have another checkpoint: it has none, or the batches since the newest one are a
  /// quarter of what checkpoints and batches may take (they go together), or the only one goes when three
  /// more segments like the newest come. Waiting until it is gone would leave a run that ends then without
  /// any.
  bool wantsCheckpoint() const;
  std::uint64_t maxBytes() const { return m_rules.maxBytes; }

 private:
  Keep keep(const KeptSegment& segment) const;
  std::int64_t firstFault() const;  // an iteration; -1: there is none
  std::size_t find(std::int64_t segment) const;
  bool overBudget(std::uint64_t incoming) const;
  bool anyLast() const;
  void count(const KeptSegment& segment, bool there);
  std::uint64_t forValues() const;
  std::uint64_t roomForStatistics(const Need& need) const;
  std::uint64_t roomForReplay() const;
  std::uint64_t statisticsBytes() const { return m_bytes - m_valueBytes - m_bareBytes - m_replayBytes; }

  RetentionRules m_rules;
  std::vector<KeptSegment> m_segments;  // oldest first
  core::IterationSet m_anew;
  std::uint64_t m_bytes = 0, m_valueBytes = 0;  // of all; of those with values
  // Of the others: without statistics, but for checkpoints and batches; and of these in all of them.
  std::uint64_t m_bareBytes = 0, m_replayBytes = 0;
  std::uint64_t m_otherBytes = 0;
};

}  // namespace msdbg::dump
