// ForeignRecording: one rank of a program of another framework, recorded. The program defines what it
// computes as it meets it, and says of each iteration what ran and what it saw; values are looked at right
// away, and the iteration is handed to the recorder when it ends, because only then its graph is known. One
// thread at a time.
#pragma once

#include <map>
#include <memory>

#include "dump/policy/decisions.h"
#include "dump/python/record/definitions.h"
#include "dump/python/record/graph_version.h"
#include "dump/python/record/run_place.h"
#include "dump/python/record/seen_value.h"
#include "dump/writer/recorder.h"

namespace msdbg::dump {

class ForeignRecording {
 public:
  /// What is recorded the environment says (environment_options.h); statistics of everything unless it does.
  /// Errors: of the environment, of the folder.
  static core::Result<std::unique_ptr<ForeignRecording>> open(const ForeignSettings& settings);
  ~ForeignRecording();

  const std::string& runId() const { return m_place->id(); }
  /// The recorder still records.
  bool active() const;

  Definitions& definitions() { return m_definitions; }
  /// Where this rank stands in a mesh; for each axis the last that is said counts. kUsage: no name, no place.
  core::Status setMesh(MeshAxis axis);
  core::Status setRole(core::TensorId tensor, core::TensorRole role);

  /// kUsage: the iteration before has not ended.
  core::Status begin(core::Iteration iteration);
  /// kUsage: no iteration, no such node, a node of its name ran already.
  core::Status ran(core::NodeId node);
  /// `node` ran just before `reader`, which was said to have run and reads these. kUsage: it did not run in
  /// this iteration, a tensor or node is not known.
  core::Status ranBefore(core::NodeId node, core::NodeId reader, std::vector<core::TensorId> inputs);
  /// Statistics and hash of the value, and its bytes where they are recorded. kUsage: no such tensor, another
  /// dtype.
  core::Status saw(core::TensorId tensor, const SeenValue& value);
  /// The same value as another tensor had that was seen in this iteration.
  core::Status sawSame(core::TensorId tensor, core::TensorId other);
  /// Of what was seen of the tensor in this iteration: whether all its numbers are finite. nullopt: nothing
  /// was.
  std::optional<bool> isFinite(core::TensorId tensor) const;
  /// Whether these are the bytes that were seen of the tensor in this iteration. nullopt: nothing was, or no
  /// hash of it, or another type or number of elements.
  std::optional<bool> isSame(core::TensorId tensor, const SeenValue& value) const;
  /// The value that the next one is compared with which is seen of an update of this tensor.
  core::Status keep(core::TensorId tensor, const SeenValue& value);
  /// The norm of this rank's gradients, by their statistics, is among the scalars where it is not given.
  core::Status end(const core::Scalars& scalars);
  /// Beside the last iteration that ended. kUsage: it has no name.
  core::Status metric(const std::string& name, double value);
  /// The program is about to fail at this node, which finish() then says. kUsage: no iteration, no such node.
  core::Status failedAt(core::NodeId node);
  /// An iteration in progress is recorded as incomplete, unless the program finished and had done no more in
  /// it than compute forward (an evaluation after the last step). Later calls do nothing.
  void finish(RunEnd how);
  /// --stop-on-hit: "" until the iterations after this rank's first hit are recorded, then that hit, as a
  /// JSON object for finishOnHit(). nullopt: nobody asked to stop.
  std::optional<std::string> stopHit() const;
  /// Ends the recording because of that hit, of this rank or of another. kDamaged: no such text.
  core::Status finishOnHit(const std::string& hit);
  /// In a child that was forked: closes what it has of the run, which stays the parent's, and leaves the
  /// rest. This recording cannot be used there.
  void leaveToParent() noexcept;

 private:
  struct Seen {
    core::TensorId tensor;
    core::TensorObservation observed;
    core::Tensor value;  // of the right type and shape; bytes where they are recorded
  };
  ForeignRecording(const ForeignSettings& settings, RecordOptions options)
      : m_settings(settings), m_options(std::move(options)) {}
  core::Status checkSeen(core::TensorId tensor) const;
  const core::Tensor* previousOf(core::TensorId tensor) const;
  const core::TensorStatistics* expectedOf(core::TensorId tensor) const;
  std::optional<Policy> policyOf(core::TensorId tensor) const;
  bool keepsValue(core::TensorId tensor) const;
  bool wantsFlags(core::TensorId tensor) const;
  core::TensorObservation observe(core::TensorId tensor, const core::Tensor& value) const;
  void add(core::TensorId tensor, Seen seen);
  core::Status useGraph();
  core::Status take(std::unique_ptr<GraphVersion> graph);
  core::Status leaveWideGraph();
  void deliver();
  core::Scalars withNorm(core::Scalars scalars) const;
  bool trained() const;
  void forget();

  const ForeignSettings m_settings;
  const RecordOptions m_options;
  std::unique_ptr<RunPlace> m_place;
  std::unique_ptr<Recorder> m_recorder;
  Definitions m_definitions;
  std::vector<MeshAxis> m_mesh;
  std::unique_ptr<GraphVersion> m_graph;
  std::optional<Decisions> m_decisions;  // of m_graph
  /// What it was before it became more than twice as wide (another level, for some iterations), and how many
  /// iterations on end have needed no more than that.
  std::unique_ptr<GraphVersion> m_narrow;
  std::int64_t m_fitNarrow = 0;
  bool m_stale = false;  // a definition that m_graph has is another now
  bool m_finished = false, m_saidVersions = false;
  std::int64_t m_iterations = 0, m_versions = 0;
  core::Iteration m_ended;  // the last one; invalid: none has

  core::Iteration m_iteration;  // in progress; not valid: none
  bool m_selected = false;      // it is recorded
  core::NodeId m_failedAt;      // where the program failed; not valid: it has not, or nobody knows
  GraphVersion::Used m_used;
  std::vector<Seen> m_seen;
  std::int64_t m_turn = 0;                                     // counts iterations, for the marks below
  std::vector<std::int64_t> m_nameTurn;                        // by name of nodes: when one ran
  std::vector<std::int64_t> m_sourceTurn;                      // by tensor: when it was used
  std::vector<std::pair<std::int64_t, std::size_t>> m_seenAt;  // by tensor: turn, place in m_seen
  std::map<core::TensorId, core::Tensor> m_kept;
  std::map<core::TensorId, core::TensorId> m_updateOf;  // by the parameter or state: its last update seen
  /// What updates of the last iteration made, by the parameter or state: what this one is likely to read.
  std::map<core::TensorId, core::TensorStatistics> m_updated, m_updating;
  double m_seconds = 0;  // that looking took in this iteration
  std::uint64_t m_bytes = 0;
};

}  // namespace msdbg::dump
