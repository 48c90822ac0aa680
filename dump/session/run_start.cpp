#include "dump/session/run_start.h"

#include <H5public.h>
#include <fcntl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "core_engine/base/machine.h"
#include "dump/reader/rank_index.h"

namespace msdbg::dump {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Result;
using core::Status;

namespace {

constexpr int kMostTurns = 100;  // of making a folder that others remove meanwhile

std::string hostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// 128 random bits: two runs never have the same. From the system itself: std::random_device, linked
// statically, needs a newer libc than a wheel may.
std::string newId() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) && errno == EINTR)
    continue;
  std::string id;
  for (const unsigned char byte : bytes) id += {kDigits[byte >> 4], kDigits[byte & 15]};
  return id;
}

Error failure(const char* what, const fs::path& path, const std::error_code& reason) {
  return {ErrorCode::kIo, std::string("cannot ") + what + " " + path.string() + ": " + reason.message()};
}

std::string text(std::string_view words) { return std::string(words); }

Error thereAlready(const fs::path& folder, const FolderAdvice& advice) {
  return {ErrorCode::kUsage,
          folder.string() + " is there already; " + text(advice.other) + ", or " + text(advice.replace)};
}

Error inUse(const fs::path& folder, const FolderAdvice& advice) {
  return {ErrorCode::kUsage, folder.string() +
                                 " is being recorded right now, or its run is about to start: it is not "
                                 "replaced; end that run first, or " +
                                 text(advice.other)};
}

bool isEmpty(const fs::path& folder) {
  std::error_code error;
  return fs::is_empty(folder, error) && !error;
}

// Ranks may outlive whoever started them. Nothing but their journals is needed: the rest of the run may be
// unreadable, as it is before the first iteration.
bool ranksRecord(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with("rank_") && isRecording(entry->path())) return true;
  return false;
}

// Whether what is in the folder may go: only what is surely a run of ours, and not one that is being written.
Status mayReplace(const fs::path& folder, const FolderAdvice& advice) {
  if (!fs::exists(folder / "run.json"))
    return Error(
        ErrorCode::kUsage,
        folder.string() + " is not a msdbg run (no run.json): it is not replaced; " + text(advice.other));
  if (ranksRecord(folder)) return inUse(folder, advice);
  return Ok{};
}

// The folder stays, and the lock on it. run.json goes last: what a kill leaves can still be replaced.
Status removeContents(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename() != "run.json") paths.push_back(entry->path());
  if (error) return failure("read", folder, error);
  paths.push_back(folder / "run.json");
  for (const fs::path& path : paths)
    if (fs::remove_all(path, error); error) return failure("remove", path, error);
  return Ok{};
}

// Of a link only the link goes, as ever: then there is no folder, and a new one is made.
Status removeOld(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_symlink(folder, error)) return removeContents(folder);
  if (fs::remove(folder, error); error) return failure("remove", folder, error);
  return Ok{};
}

// There may be one already.
Status makeFolder(const fs::path& folder, const FolderAdvice& advice) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error)) && !fs::is_directory(folder, error))
    return Error(ErrorCode::kUsage,
                 folder.string() + " is there already and is no folder; " + text(advice.other));
  fs::create_directories(folder, error);
  if (error) return failure("create", folder, error);
  return Ok{};
}

// Not valid: what was opened is not there any more, others remove it or put another in its place.
Result<Descriptor> lockFolder(const fs::path& folder, Existing existing, const FolderAdvice& advice) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.valid() && errno == ENOENT) return descriptor;
  if (!descriptor.valid()) return failure("open", folder, {errno, std::generic_category()});
  if (!descriptor.lockAlone() && errno == EWOULDBLOCK)
    return existing == Existing::kReplace ? inUse(folder, advice) : thereAlready(folder, advice);
  if (!isAt(descriptor.get(), folder / ".")) return Descriptor();  // "/.": what a link leads to
  return descriptor;
}

// Not valid: it takes another turn.
Result<Descriptor> tryToCreate(const fs::path& folder, Existing existing, const FolderAdvice& advice) {
  MSDBG_TRY(makeFolder(folder, advice));
  if (existing == Existing::kRefuse && !isEmpty(folder)) return thereAlready(folder, advice);
  MSDBG_ASSIGN(Descriptor locked, lockFolder(folder, existing, advice));
  if (!locked.valid() || isEmpty(folder)) return locked;
  if (existing == Existing::kRefuse) return thereAlready(folder, advice);  // another was quicker
  MSDBG_TRY(mayReplace(folder, advice));
  MSDBG_TRY(removeOld(folder));
  if (!isAt(locked.get(), folder / ".")) return Descriptor();
  return locked;
}

}  // namespace

std::string timeText() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

RunInfo describeRun(std::vector<std::string> command,
                    std::vector<std::pair<std::string, std::string>> computing) {
  RunInfo info;
  info.id = newId();
  info.version = MSDBG_VERSION;
  info.command = std::move(command);
  std::error_code ignored;
  info.workingDirectory = fs::current_path(ignored).string();
  info.host = hostName();
  info.startedAt = timeText();
  const core::MachineInfo machine = core::machineInfo();
  info.cpuModel = machine.model;
  info.cpuFeatures = machine.features;
  info.caches = machine.caches;
  info.libraries = std::move(computing);
  info.libraries.emplace_back("hdf5", H5_VERS_INFO);
  info.libraries.emplace_back("zstd", ZSTD_versionString());
  return info;
}

Result<Descriptor> createRunFolder(const fs::path& folder, Existing existing, const FolderAdvice& advice) {
  for (int turn = 0; turn < kMostTurns; ++turn) {
    MSDBG_ASSIGN(Descriptor created, tryToCreate(folder, existing, advice));
    if (created.valid()) return created;
  }
  return Error(ErrorCode::kIo, "cannot create " + folder.string() + ": others remove it again and again");
}

}  // namespace msdbg::dump
