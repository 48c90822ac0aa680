#include "dump/session/run_folders.h"

#include <unistd.h>

#include <fstream>

#include "core_engine/runtime/backend.h"
#include "dump/session/run_start.h"

namespace msdbg::dump {

using core::Communicator;
using core::Error;
using core::ErrorCode;
using core::Ok;
using core::Rank;
using core::Result;
using core::Status;

namespace {

// A pid means something to whoever has the same kernel and the same pid namespace.
std::string machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64] = {};
  (void)!::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  return boot + " " + space;
}

Status broadcastText(Communicator& communicator, std::string& text, Rank root) {
  std::uint64_t size = text.size();
  MSDBG_TRY(communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), root));
  text.resize(size);
  if (size == 0) return Ok{};
  return communicator.broadcast(std::as_writable_bytes(std::span(text)), root);
}

// What one rank says to all others: its machine, and what went wrong.
struct Word {
  std::string machine, problem;
};
Status say(Communicator& communicator, Word& word, Rank root) {
  MSDBG_TRY(broadcastText(communicator, word.machine, root));
  return broadcastText(communicator, word.problem, root);
}

RunInfo newInfo(const SessionSettings& settings, int ranks, int threads) {
  RunInfo info = describeRun(settings.command, core::cpuInfo().libraries);
  info.ranks = ranks;
  info.threads = threads;
  info.backend = core::backendName(settings.backend);
  if (const auto device = core::deviceLibraries(settings.backend, core::Rank(0)); device.ok())
    info.libraries.insert(info.libraries.end(), device->begin(), device->end());
  info.seed = settings.seed;
  info.policy = settings.options;
  for (const core::FaultSpec& fault : settings.faults) info.faults.push_back(fault.text);
  info.passes = settings.plan.passes.text();
  info.recompute = settings.plan.recompute;
  return info;
}

// The run of rank 0 as this host runs it.
RunInfo copyFor(const SessionSettings& settings, RunInfo info) {
  const RunInfo here = describeRun(settings.command, core::cpuInfo().libraries);
  info.host = here.host;
  info.workingDirectory = here.workingDirectory;
  info.cpuModel = here.cpuModel;
  info.cpuFeatures = here.cpuFeatures;
  info.caches = here.caches;
  info.libraries = here.libraries;
  return info;
}

// A program that was started by hand has none of the options of `msdbg dump`.
constexpr FolderAdvice kByHand = {"name another folder in MSDBG_DUMP", "remove this one"};

FolderAdvice adviceOf(const SessionSettings& settings) {
  return settings.launcher ? FolderAdvice() : kByHand;
}

Status create(const std::filesystem::path& run, const RunInfo& info, Descriptor& lock,
              const FolderAdvice& advice) {
  MSDBG_ASSIGN(lock, createRunFolder(run, Existing::kRefuse, advice));
  return writeRunInfo(run, info);
}

// Rank 0 with a launcher: the folder is there, unless the launcher was killed before this rank began and
// another run took its place.
Result<RunInfo> firstInfo(const SessionSettings& settings, int ranks, int threads, Descriptor& lock) {
  if (settings.launcher) {
    MSDBG_ASSIGN(RunInfo info, readRunInfo(settings.run));
    if (info.id == settings.runId || settings.runId.empty()) return info;
    return Error(ErrorCode::kMissing,
                 settings.run.string() + " is another run now, and the launcher of this one has ended");
  }
  RunInfo info = newInfo(settings, ranks, threads);
  MSDBG_TRY(create(settings.run, info, lock, adviceOf(settings)));
  return info;
}

// A run that could not begin on every rank is not one that was interrupted.
void giveUp(const std::filesystem::path& run, RunInfo info, const std::string& why) {
  if (!readRunInfoToEnd(run, info.id).ok()) return;
  info.end.state = "failed";
  info.end.message = why;
  info.endedAt = timeText();
  (void)writeRunInfo(run, info);  // why is told by whoever gets the error
}

bool seesRun(const std::filesystem::path& run, const RunInfo& info) {
  const auto there = readRunInfo(run);
  return there.ok() && there->id == info.id;
}

}  // namespace

Result<RunFolders> makeRunFolders(Communicator& communicator, const SessionSettings& settings, int threads) {
  const Rank self = communicator.rank();
  RunFolders folders;
  RunInfo info;
  std::string json;
  Word mine{machine(), ""};
  RunInfo written;
  std::vector<std::string> machines;
  // One after the other: the lowest rank of a host finds no folder and makes it, the others see it.
  for (int rank = 0; rank < communicator.size(); ++rank) {
    if (Rank(rank) == self && rank == 0) {
      auto made = firstInfo(settings, communicator.size(), threads, folders.lock);
      if (made.ok()) written = *made, json = written.toJson();
      if (!made.ok()) mine.problem = made.error().message();
      folders.mine = made.ok() && !settings.launcher;
    } else if (Rank(rank) == self && !seesRun(settings.run, info)) {
      written = copyFor(settings, info);
      const Status made = create(settings.run, written, folders.lock, adviceOf(settings));
      if (!made.ok()) mine.problem = made.error().message();
      folders.mine = made.ok();
    }
    Word word = Rank(rank) == self ? mine : Word();
    MSDBG_TRY(say(communicator, word, Rank(rank)));
    if (!word.problem.empty()) {
      const bool own = Rank(rank) == self;
      folders.refused = "rank " + std::to_string(rank) + " could not begin: " + word.problem;
      if (!own && folders.mine) giveUp(settings.run, written, folders.refused);
      (void)communicator.barrier();  // mpirun ends all when one ends: not before each folder says why
      if (own) return Error(ErrorCode::kIo, word.problem);
      return folders;
    }
    if (rank == 0) {
      MSDBG_TRY(broadcastText(communicator, json, Rank(0)));
      MSDBG_ASSIGN(info, RunInfo::fromJson(json, "rank 0"));
      folders.id = info.id;
    }
    machines.push_back(word.machine);
  }
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (Rank(rank) != self && machines[static_cast<std::size_t>(rank)] == mine.machine)
      folders.neighbours.push_back(Rank(rank));
  return folders;
}

}  // namespace msdbg::dump
