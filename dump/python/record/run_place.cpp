#include "dump/python/record/run_place.h"

#include <stdlib.h>

#include "core_engine/base/log.h"
#include "core_engine/base/text.h"
#include "dump/session/run_end.h"
#include "dump/session/run_start.h"

namespace msdbg::dump {

using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

constexpr FolderAdvice kByHand = {"name another folder in MSDBG_DUMP", "remove this one"};

bool isThere(const std::filesystem::path& run, const std::string& id) {
  const auto there = readRunInfo(run);
  return there.ok() && (id.empty() || there->id == id);
}

}  // namespace

Result<std::unique_ptr<RunPlace>> RunPlace::make(const ForeignSettings& settings,
                                                 const RecordOptions& options) {
  std::unique_ptr<RunPlace> place(new RunPlace(settings));
  // A rank that does not see the run of the others has a disk of its own, and makes its own copy.
  const bool alone = !settings.launcher && !settings.runId.empty() && !isThere(settings.run, settings.runId);
  MSDBG_TRY(settings.create || alone ? place->create(options) : place->join(options));
  if (const char* control = getenv("MSDBG_CONTROL");
      control && settings.launcher && settings.rank.value == 0) {
    auto opened = RunControl::open(control);
    if (opened.ok()) place->m_control = std::move(opened).value();  // on another host there is none
  }
  return place;
}

// What the framework is, over what whoever made the folder could know.
RunInfo RunPlace::describe(RunInfo info, const RecordOptions& options) const {
  info.ranks = m_settings.ranks;
  info.threads = m_settings.threads;
  info.backend = m_settings.backend;
  info.libraries = describeRun({}, m_settings.libraries).libraries;
  info.seed = m_settings.seed;
  info.policy = options;
  return info;
}

Status RunPlace::create(const RecordOptions& options) {
  RunInfo info = describe(describeRun(m_settings.command, {}), options);
  if (!m_settings.runId.empty()) info.id = m_settings.runId;
  MSDBG_ASSIGN(m_lock, createRunFolder(m_settings.run, Existing::kRefuse, kByHand));
  MSDBG_TRY(writeRunInfo(m_settings.run, info));
  m_id = info.id;
  m_mine = true;
  return Ok{};
}

Status RunPlace::join(const RecordOptions& options) {
  MSDBG_ASSIGN(RunInfo info, readRunInfo(m_settings.run));
  if (!m_settings.runId.empty() && info.id != m_settings.runId)
    return Error(ErrorCode::kMissing,
                 m_settings.run.string() + " is another run now: this one is not recorded");
  m_id = info.id;
  if (m_settings.rank.value != 0) return Ok{};
  return writeRunInfo(m_settings.run, describe(std::move(info), options));
}

void RunPlace::progress(std::int64_t iterations, std::optional<double> loss) {
  if (m_control) m_control->setProgress({iterations, loss});
}

void RunPlace::end(RunEnd how, const Status& recorded, std::int64_t iterations) {
  if (!recorded.ok()) {
    const std::string what = "the recording is not complete: " + recorded.error().message();
    how.message += (how.message.empty() ? "" : "; ") + what;
    if (m_control) m_control->setRecorderFailed(static_cast<int>(m_settings.rank.value), what);
  }
  if (m_settings.launcher && !m_mine) return;
  const Result<ToldEnd> told =
      tellRunEnd({m_settings.run, m_id, m_settings.rank, m_settings.ranks, m_mine, recorded.ok()}, how);
  if (!told.ok()) return core::logError(told.error().message());
  if (told->end) say(*told->end, iterations);
}

void RunPlace::say(const RunEnd& how, std::int64_t iterations) const {
  const std::string next = "msdbg check " + core::shellQuoted(m_settings.run.string());
  if (how.state == "failed" || how.state == "killed")
    return core::logError(how.message + "; what was recorded is in " + m_settings.run.string() + ": " + next);
  core::logSay((how.message.empty() ? how.state : how.message) + ", " + std::to_string(iterations) +
               (iterations == 1 ? " iteration" : " iterations") + "; next: " + next);
}

}  // namespace msdbg::dump
