// Recorder: the Observer that writes one rank of a run folder (format: dump/FORMAT.md). Statistics, hashes
// and copies are taken on the training thread; segments are built, written, fsynced and committed by one
// background thread, the only one that calls HDF5. Where that is faster, large tensors are encoded by
// training's own team and go straight to their file (WayTrial). Training waits when more than
// bufferBytes are pending or a finished iteration has been uncommitted for over a second. A disk that refuses
// is tried again, while training goes on: what does not fit into memory meanwhile is given up, values first,
// and the journal names the gap. A failure that cannot pass stops recording; it is logged once, status()
// tells.
#pragma once

#include <filesystem>
#include <memory>

#include "core_engine/base/ids.h"
#include "core_engine/runtime/observer.h"
#include "dump/journal.h"
#include "dump/run_info.h"
#include "dump/stage_times.h"
#include "dump/writer/disk_space.h"
#include "dump/writer/pauses.h"
#include "dump/writer/row_path.h"

namespace msdbg::core {
class Communicator;
}

namespace msdbg::dump {

class Recorder : public core::Observer {
 public:
  struct Place {
    std::filesystem::path run;
    core::Rank rank{0};
    int ranks = 1;
    int threads = 1;
    core::Communicator* communicator = nullptr;  // tells the other ranks of hits (--on-hit); outlives this
    WayTrial::Pace pace = {};
    Pauses::Duration patience = Pauses::kPatience;  // with a disk that refuses at the start, and at the end
    AskDisk disk = diskSpace;                       // of the rank's folder
  };
  /// The run folder must exist; creates rank_R/ and its journal and takes the journal's lock.
  /// kUsage: another recorder holds the lock. kIo: with path and reason.
  static core::Result<std::unique_ptr<Recorder>> create(const Place& place, const RecordOptions& options);
  ~Recorder() override;  // finishes as finish({"finished"})

  void graphReady(const core::Graph& graph) override;  // writes graphs/HASH.pb and sources/
  void sourcesGiven(core::Iteration iteration, std::span<const core::GivenSource> sources) override;
  void stateSet(core::Iteration iteration) override;
  void iterationStarted(core::Iteration iteration) override;
  void tensorReady(const core::TensorReady& ready) override;
  core::ValueWish valueWish(core::Iteration iteration, core::TensorId tensor) override;
  core::UpdateWish updateWish(core::Iteration iteration, core::TensorId tensor) override;
  void kernelStarted(core::Iteration iteration, core::KernelId kernel) override;
  void iterationFinished(core::Iteration iteration, const core::Scalars& scalars) override;
  void metricsGiven(core::Iteration iteration, const core::Scalars& metrics) override;

  /// Commits everything including the incomplete last iteration (complete = 0), writes the rank's end to its
  /// journal and releases the lock. Safe to call twice, and from another thread while the training thread is
  /// stuck.
  /// An error: recording stopped, or something is missing; logged.
  core::Status finish(const RunEnd& end);
  /// Asks the background thread to commit what is finished now (watchpoint, signal). Async-signal-safe.
  void requestCommit() noexcept;
  /// Where a condition of --on-hit first fired, on any rank; the same on all ranks. Training thread.
  std::optional<RunEnd> firstHit() const;
  /// The iterations that are kept after it are done. Training thread.
  bool hitWindowDone() const;
  core::Status status() const;  // an error: recording stopped
  /// Recording stopped, and training is to stop with it (RecordOptions::onError).
  bool endsTraining() const;
  std::uint64_t bytesWritten() const;
  /// So far. Any thread.
  RecordingTimes times() const;
  /// Where this rank stands in a mesh of ranks. Training thread.
  void setMesh(const std::vector<MeshAxis>& axes);
  /// Time that whoever tells of values (TensorReady::observed) took to look at them.
  void spent(Stage stage, double seconds, std::uint64_t bytes);

 private:
  struct Impl;
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

}  // namespace msdbg::dump
