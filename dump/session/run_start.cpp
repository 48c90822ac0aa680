#include "dump/session/run_start.h"

#include <H5public.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include <random>
#include <system_error>

#include "core_engine/runtime/backend.h"
#include "dump/reader/run_reader.h"

namespace msdbg::dump {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Status;

namespace {

std::string hostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// 128 random bits: two runs never have the same.
std::string newId() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device source;
  std::uniform_int_distribution<int> digit(0, 15);
  std::string id;
  while (id.size() < 32) id += kDigits[digit(source)];
  return id;
}

// Whether the folder may go: only what is surely a run of ours, and not one that is being written.
Status mayReplace(const fs::path& folder) {
  if (!fs::exists(folder / "run.json"))
    return Error(ErrorCode::kUsage, folder.string() +
                                        " is not a msdbg run (no run.json): it is not replaced; " +
                                        "choose another name with -o");
  const auto run = RunReader::open(folder);
  if (run.ok() && run.value()->recording())
    return Error(ErrorCode::kUsage,
                 folder.string() + " is being recorded right now; choose another name with -o");
  return Ok{};
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

RunInfo describeRun(std::vector<std::string> command) {
  RunInfo info;
  info.id = newId();
  info.version = MSDBG_VERSION;
  info.command = std::move(command);
  std::error_code ignored;
  info.workingDirectory = fs::current_path(ignored).string();
  info.host = hostName();
  info.startedAt = timeText();
  const core::CpuInfo cpu = core::cpuInfo();
  info.cpuModel = cpu.model;
  info.cpuFeatures = cpu.features;
  info.libraries = {{"dnnl", cpu.dnnlVersion + " " + cpu.dnnlIsa},
                    {"hdf5", H5_VERS_INFO},
                    {"zstd", ZSTD_versionString()},
                    {"compiler", __VERSION__}};
  return info;
}

Status createRunFolder(const fs::path& folder, Existing existing) {
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(folder, error));
  if (there && !fs::is_directory(folder, error))
    return Error(ErrorCode::kUsage,
                 folder.string() + " is there already and is no folder; choose another name with -o");
  if (there && !fs::is_empty(folder, error)) {
    if (existing == Existing::kRefuse)
      return Error(
          ErrorCode::kUsage,
          folder.string() + " is there already; choose another name with -o, or replace it with --force");
    MSDBG_TRY(mayReplace(folder));
    fs::remove_all(folder, error);
    if (error) return Error(ErrorCode::kIo, "cannot remove " + folder.string() + ": " + error.message());
  }
  fs::create_directories(folder, error);
  if (error) return Error(ErrorCode::kIo, "cannot create " + folder.string() + ": " + error.message());
  return Ok{};
}

}  // namespace msdbg::dump
