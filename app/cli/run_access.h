// What the commands that read a run share: finding and opening it, checking a rank or iteration that was
// asked for, and how places in it are written for people. Main thread only.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/run.h"

namespace msdbg::app {

struct OpenedRun {
  std::unique_ptr<replay::Run> run;
  std::string path;  // as given, or as found
  const core::Graph& graph() const { return run->graph(); }
};

/// "" means the newest *.msdbg in the current folder, which is then named on stderr. A run that is not there
/// names those that lie beside it.
core::Result<OpenedRun> openRun(const std::string& path);
/// Also one whose program failed before there was a graph: then that is all that is known of it.
core::Result<OpenedRun> openRunOrFailure(const std::string& path);
/// The same without opening it: the path of a run folder that is there.
core::Result<std::string> findRun(const std::string& path);

/// "a.msdbg/" -> "a.msdbg"
std::filesystem::path plainPath(const std::string& path);

/// Splits the arguments of a command whose last one is not the run: {QUERY} or {RUN, QUERY}.
struct RunAndQuery {
  std::string run, query;
};
core::Result<RunAndQuery> splitRunAndQuery(const std::vector<std::string>& arguments,
                                           const std::string& queryName);

/// kUsage naming the recorded ones.
core::Result<core::Rank> checkedRank(const OpenedRun& run,
                                     std::optional<std::int64_t> rank);  // none: the first
core::Status checkIteration(const OpenedRun& run, core::Rank rank, std::int64_t iteration);
/// The same of a list, "" all of them.
core::Result<std::vector<core::Rank>> selectedRanks(const OpenedRun& run, const std::string& text);
/// Of those that any of the ranks recorded.
core::IterationSet recordedIterations(const OpenedRun& run, const std::vector<core::Rank>& ranks,
                                      const core::IndexList& list);
/// What a list asks for: "" all. kUsage, naming the flag: no rank recorded any of them.
core::Result<core::IndexList> selectedIterations(const OpenedRun& run, std::string_view flag,
                                                 const std::string& text);

/// For people: "0-11", "0-90000 every 1000,90001-100000", or "none"; of a rank: of all that are recorded of
/// it.
std::string iterationsText(const core::IterationSet& iterations);
std::string iterationsText(const OpenedRun& run, core::Rank rank);
std::string ranksText(const OpenedRun& run);

/// What --index names, row-major: "3,5" of a [10, 20] is 65, -1 the last of a dimension; "" is the element of
/// a tensor that has one only. kUsage.
core::Result<std::int64_t> elementOf(const core::TensorInfo& tensor, const std::string& index);

/// Damage seen so far, one warning a line on stderr; kExitDamaged if there is any and `status` is fine.
int withDamage(const OpenedRun& run, int status);

// Written the same in every face.
using replay::framesOf;
using replay::placeOf;
using replay::sourceLine;
using replay::tensorName;
using replay::typeText;
/// "finished", "was killed …", "is being recorded": how the run ended, for people.
std::string endText(const OpenedRun& run);

}  // namespace msdbg::app
