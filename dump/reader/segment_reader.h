// SegmentReader: one segment file, untrusted. Every size is checked before memory is taken, every byte handed
// out was checked against its hash. Errors name the dataset; the caller adds the file. Not thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core_engine/graph/graph.h"
#include "core_engine/tensor/input_source.h"
#include "dump/journal.h"
#include "dump/reader/statistics_table.h"

namespace msdbg::dump {

class SegmentReader {
 public:
  /// `bytes`: the length that the journal says; 0: unknown. kMissing, kDamaged, kUnsupported (newer major
  /// version).
  static core::Result<std::unique_ptr<SegmentReader>> open(const std::filesystem::path& file,
                                                           std::uint64_t bytes);
  ~SegmentReader();

  /// The journal's line as far as the file itself can tell: for a segment that the journal does not list.
  core::Result<SegmentLine> describe(std::int64_t rank);
  const std::vector<std::int64_t>& iterations() const;
  /// To be used while this reader lives.
  core::Result<StatisticsTable> statistics();
  /// One for each iteration, over the hashes of all tensors that were recorded in it (IterationDigest); none
  /// in runs before format 1.2.
  core::Result<std::vector<core::Hash128>> digests();
  core::Result<std::vector<std::string>> scalarNames();
  /// nullopt: this scalar was not reported in this iteration.
  core::Result<std::optional<double>> scalar(const std::string& name, std::int64_t iteration);
  /// Of the last of these iterations that has one.
  core::Result<std::optional<double>> lastScalar(const std::string& name, std::int64_t first,
                                                 std::int64_t last);

  /// Iterations in which the value is stored; empty when there is no such dataset.
  core::Result<std::vector<std::int64_t>> stored(const core::TensorInfo& tensor);
  /// kUnavailable: not in this iteration.
  core::Result<core::Tensor> tensor(const core::TensorInfo& tensor, std::int64_t iteration);
  /// A part of the checkpoint of an iteration. kUnavailable: there is none.
  core::Result<core::Tensor> state(const core::TensorInfo& tensor, std::int64_t iteration);
  /// What the graph's input was made from, or the input itself (`made` false). kUnavailable: not in this
  /// iteration.
  struct RecordedInput {
    core::InputSource source;
    bool made = false;
  };
  core::Result<RecordedInput> input(const core::TensorInfo& tensor, std::int64_t iteration);

 private:
  struct Impl;
  explicit SegmentReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
