// PairReader: what two runs recorded of one tensor each, held against each other: hashes, then values, then
// statistics. Used from the runs' thread.
#pragma once

#include "replay/diff/comparison.h"
#include "replay/diff/last_bit.h"

namespace msdbg::replay {

class PairReader {
 public:
  PairReader(Run& a, Run& b, const Tolerance& tolerance, core::CancelToken cancel)
      : m_a(a), m_b(b), m_tolerance(tolerance), m_cancel(std::move(cancel)), m_bits(a, m_cancel) {}

  struct Places {
    core::Rank rankA, rankB;
    core::Iteration iterationA, iterationB;
  };
  /// How much is allowed, by `auto`, where the operator cannot be asked: what A's node reads may differ by
  /// this part of its largest number.
  struct Auto {
    const GraphSide* side = nullptr;  // A's
    const Alignment* alignment = nullptr;
    double inputsScaled = 0;    // the most by which its inputs differ, of what is known
    bool judgedBefore = false;  // it is carried, and was judged as what the update before made
  };
  /// With values where they decide, or where `measure` wants them.
  TensorComparison compare(const Places& places, const AlignedTensor& tensor, bool measure, const Auto& how);
  /// Fills in what the last bit of its inputs makes, where that can be said.
  void addLastBit(TensorComparison& comparison, const Auto& how);

  const std::vector<std::string>& notes() const { return m_notes; }

 private:
  std::optional<core::Hash128> hash(Run& run, core::Rank rank, core::Iteration iteration,
                                    core::TensorId tensor);
  std::optional<core::Tensor> value(Run& run, core::Rank rank, core::Iteration iteration,
                                    core::TensorId tensor);
  void note(const core::Error& error);
  void compareValues(const core::Tensor& a, const core::Tensor& b, TensorComparison& found, const Auto& how);
  void compareStatistics(TensorComparison& found);
  bool within(TensorComparison& found, const Auto& how);
  bool withinLastBits(TensorComparison& found, const Auto& how);
  core::Result<LastBit> lastBit(const TensorComparison& found, const Auto& how);

  Run& m_a;
  Run& m_b;
  const Tolerance& m_tolerance;
  core::CancelToken m_cancel;
  LastBits m_bits;
  std::vector<std::string> m_notes;
};

}  // namespace msdbg::replay
