// What `msdbg diff` shows: a comparison with the runs that it is of. Pure but for looking at the runs' graphs
// and sources.
#pragma once

#include "app/cli/json_output.h"
#include "app/cli/run_access.h"
#include "replay/diff/comparison.h"

namespace msdbg::app {

struct DiffView {
  const OpenedRun& a;
  const OpenedRun& b;  // the same one where a run is compared with itself
  const replay::Comparison& found;
  std::string nameA, nameB;  // "good.msdbg", "rank 0", "iteration 7", "recorded"
  bool all = false;
};

/// "they part in iteration 3 at network/fc1/Gemm-op1", in a sentence.
std::string diffVerdict(const DiffView& view);
void printDiff(const DiffView& view);
Json diffJson(const DiffView& view);

/// A tensor against values of a file.
struct ValuesView {
  const OpenedRun& run;
  core::TensorId tensor;
  core::Rank rank;
  core::Iteration iteration;
  const replay::Measures& measures;
  replay::Agreement verdict;
  std::string file, tolerance;
  std::optional<double> lastBit;
};
void printValuesDiff(const ValuesView& view);
Json valuesDiffJson(const ValuesView& view);

// --- parts of these ---
inline constexpr std::size_t kDiffLines = 12;  // of a list, without --all
/// "  name      text"; nothing without a text.
void printDiffFact(const std::string& name, const std::string& text);
/// What two runs were made with, what they were given, and their graphs.
void printConfigurationDiff(const DiffView& view);
void printSourcesDiff(const DiffView& view);
void printGivenDiff(const DiffView& view);
void printGraphDiff(const DiffView& view);
/// "network/fc1/Gemm-op1", and how B calls it where that is another name.
std::string nameOf(const DiffView& view, const replay::TensorComparison& comparison);
/// Several lines: what differs, where, how far apart.
void printMeasures(const replay::Measures& measures, std::optional<double> lastBit, const std::string& nameA,
                   const std::string& nameB);
/// "3 NaN in the first only, 1 of the other sign"
std::string kindsText(const replay::Measures& measures);
std::string percentText(double share);
Json measuresJson(const replay::Measures& measures);
const char* agreementName(replay::Agreement verdict);

}  // namespace msdbg::app
