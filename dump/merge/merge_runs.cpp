#include "dump/merge/merge_runs.h"

#include <unistd.h>

#include "dump/codec/file_hash.h"
#include "dump/codec/sha256.h"
#include "dump/commit_file.h"
#include "dump/merge/merge_copy_internal.h"

namespace msdbg::dump {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

// The folder in which the run is built; gone unless it has become the run.
class Workshop {
 public:
  explicit Workshop(const fs::path& run)
      : m_run(run),
        m_folder(run.parent_path() /
                 ("." + run.filename().string() + "." + std::to_string(::getpid()) + ".tmp")) {}
  ~Workshop() {
    std::error_code ignored;
    if (!m_done) fs::remove_all(m_folder, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  const fs::path& folder() const { return m_folder; }
  Status make(const MergePlan& plan) {
    std::error_code error;
    std::vector<fs::path> folders = {m_folder};
    for (const MergePart& part : plan.parts)
      for (const MergeFile& file : part.files)
        if (file.name.has_parent_path()) folders.push_back(m_folder / file.name.parent_path());
    for (const fs::path& folder : folders) fs::create_directories(folder, error);
    if (error) return Error(ErrorCode::kIo, "cannot create " + m_folder.string() + ": " + error.message());
    return Ok{};
  }
  Status becomeRun() {
    for (const auto& entry : fs::recursive_directory_iterator(m_folder))
      if (entry.is_directory()) MSDBG_TRY(syncFolder(entry.path()));
    MSDBG_TRY(syncFolder(m_folder));
    // An empty folder gives way; one that has content since we looked does not.
    if (::rename(m_folder.c_str(), m_run.c_str()) != 0) return ioError("cannot create", m_run);
    m_done = true;
    const fs::path parent = m_run.parent_path();
    return syncFolder(parent.empty() ? "." : parent);
  }

 private:
  fs::path m_run, m_folder;
  bool m_done = false;
};

class Merge {
 public:
  Merge(const MergeOptions& options, MergePlan plan)
      : m_options(options), m_plan(std::move(plan)), m_workshop(options.run) {}

  Result<MergeReport> run() {
    MSDBG_TRY(m_workshop.make(m_plan));
    for (const MergePart& part : m_plan.parts) {
      m_report.parts.push_back({part.folder, part.info.host, part.ranks});
      m_report.damage.insert(m_report.damage.end(), part.damage.begin(), part.damage.end());
      for (const MergeFile& file : part.files) MSDBG_TRY(take(file));
    }
    takeNotes();
    MSDBG_TRY(writeRunInfo(m_workshop.folder(), m_plan.info));
    if (m_options.cancel.cancelled()) return cancelled();
    MSDBG_TRY(m_workshop.becomeRun());
    m_report.missing = m_plan.missing;
    if (m_options.mode == MergeMode::kMove) removeSources();
    return std::move(m_report);
  }

 private:
  static Error cancelled() { return {ErrorCode::kCancelled, "cancelled"}; }

  Linking linking() const {
    if (m_options.mode == MergeMode::kCopy) return Linking::kNever;
    return m_options.mode == MergeMode::kLink ? Linking::kAlways : Linking::kWherePossible;
  }

  // Every byte is read twice, once by the copy and once by the check of what is in the new run.
  Status take(const MergeFile& file) {
    const fs::path to = m_workshop.folder() / file.name;
    MSDBG_TRY(placeFile(file.from, to, linking(), m_options.cancel, [this](std::uint64_t bytes) {
      m_report.bytes += bytes;
      if (m_options.progress) m_options.progress(m_report.bytes, m_plan.bytes);
    }));
    MSDBG_ASSIGN(const bool whole, matches(file, to));
    if (whole) return Ok{};
    // The copy is not to blame when the source is the same.
    MSDBG_ASSIGN(const bool before, matches(file, file.from));
    if (before)
      return Error(ErrorCode::kIo, "cannot copy " + file.from.string() + ": what was written to " +
                                       m_options.run.parent_path().string() + " is not what was read");
    m_report.damage.push_back({file.from.string(), "does not match its hash", file.rank, file.iterations});
    return Ok{};
  }

  Result<bool> matches(const MergeFile& file, const fs::path& path) const {
    if (file.name.parent_path() == "sources") {
      MSDBG_ASSIGN(const std::string text, readFile(path, file.bytes));
      return sha256(text) == file.name.filename().string();
    }
    if (file.hash.empty()) return true;
    MSDBG_ASSIGN(const std::string hash, hashFile(path, m_options.cancel));
    return hash == file.hash;
  }

  // Somebody may have looked at a part and written notes: those of rank 0's host come along.
  void takeNotes() const {
    std::error_code ignored;
    fs::copy_file(m_plan.parts.front().folder / "session.json", m_workshop.folder() / "session.json",
                  ignored);
  }

  // What was taken, and what a recorder leaves; folders only when nothing else is in them.
  void removeSources() {
    std::error_code error;
    for (const MergePart& part : m_plan.parts) {
      for (const MergeFile& file : part.files) fs::remove(part.folder / file.name, error);
      for (const fs::path& name : part.doubles) fs::remove(part.folder / name, error);
      for (const char* name : {"run.json", "session.json"}) fs::remove(part.folder / name, error);
      for (const std::int64_t rank : part.ranks) {
        const fs::path folder = part.folder / ("rank_" + std::to_string(rank));
        for (const char* name : {"status", "run.json"}) fs::remove(folder / name, error);
        fs::remove(folder, error);
      }
      for (const char* name : {"graphs", "sources"}) fs::remove(part.folder / name, error);
      fs::remove(part.folder, error);
      if (fs::exists(part.folder, error)) m_report.remaining.push_back(part.folder);
    }
  }

  const MergeOptions& m_options;
  MergePlan m_plan;
  Workshop m_workshop;
  MergeReport m_report;
};

Status checkTarget(const fs::path& run) {
  std::error_code error;
  const bool free = !fs::exists(fs::symlink_status(run, error)) ||
                    (fs::is_directory(run, error) && fs::is_empty(run, error));
  if (free) return Ok{};
  return Error(ErrorCode::kUsage, run.string() + " is there already; choose another name with -o");
}

}  // namespace

Result<MergeReport> mergeRuns(const MergeOptions& options) {
  MSDBG_TRY(checkTarget(options.run));
  MSDBG_ASSIGN(MergePlan plan, planMerge(options.folders));
  return Merge(options, std::move(plan)).run();
}

}  // namespace msdbg::dump
