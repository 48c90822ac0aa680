// Cursor: the one place that the whole window looks at: rank, iteration, selected nodes, tensor, source line;
// and the way back to earlier places. Panels listen to it and move it; none owns it. UI thread only.
#pragma once

#include <QObject>
#include <optional>
#include <string>
#include <vector>

#include "app/presenters/run_facts.h"

namespace msdbg::app {

struct SourceLine {
  std::string file;  // Frame::file
  std::int32_t line = 0;
  bool operator==(const SourceLine&) const = default;
};

struct Place {
  core::Rank rank;                  // invalid only when the run has none
  core::Iteration iteration;        // one of the run's
  std::vector<core::NodeId> nodes;  // selected; the first one is what details are shown of; may be empty
  core::TensorId tensor;            // invalid: none
  std::optional<SourceLine> line;
  bool operator==(const Place&) const = default;
};

class Cursor : public QObject {
  Q_OBJECT
 public:
  explicit Cursor(std::shared_ptr<const RunFacts> facts, QObject* parent = nullptr);

  const Place& place() const { return m_place; }
  core::Rank rank() const { return m_place.rank; }
  core::Iteration iteration() const { return m_place.iteration; }
  core::NodeId node() const { return m_place.nodes.empty() ? core::NodeId() : m_place.nodes.front(); }
  core::TensorId tensor() const { return m_place.tensor; }

  // Each moves to a new place and emits what changed. Unknown ranks are ignored; an iteration that is not
  // recorded becomes the nearest one that is.
  void setRank(core::Rank rank);
  void setIteration(core::Iteration iteration);
  void stepIteration(int steps);  // along the recorded iterations of the rank, clamped
  void stepRank(int steps);
  /// Selects a node: its first output becomes the tensor and its user frame the line.
  void selectNode(core::NodeId node);
  /// Selects nodes of a line or a search: see withNodes().
  void selectNodes(std::vector<core::NodeId> nodes, std::optional<SourceLine> line = {});
  void selectTensor(core::TensorId tensor);  // see withTensor()
  void clearSelection();
  /// The run has grown: everything stays where it is; a place that had no iteration gets the first one.
  void setFacts(std::shared_ptr<const RunFacts> facts);
  bool atLastIteration() const;  // of the rank; true when it has none
  /// To the rank's last iteration, as part of the last step of the history.
  void follow();
  /// Everything at once: one step of the history (a finding, a bookmark).
  void moveTo(Place place);

  bool canGoBack() const { return m_at > 0; }
  bool canGoForward() const { return m_at + 1 < m_history.size(); }
  void back();
  void forward();

 signals:
  // What changed in one move; at most one of each, then moved().
  void positionChanged();   // rank or iteration
  void selectionChanged();  // nodes, tensor or line
  void moved();             // after either; history buttons
 private:
  Place normalized(Place place) const;
  void go(Place place, bool remember);
  std::shared_ptr<const RunFacts> m_facts;
  Place m_place;
  std::vector<Place> m_history;
  std::size_t m_at = 0;
};

/// The place with other nodes selected: tensor and line follow the first one, except that `line` wins.
Place withNodes(const core::Graph& graph, Place place, std::vector<core::NodeId> nodes,
                std::optional<SourceLine> line = {});
/// The place with a tensor selected, and its producer (sources: their consumers, and the line they were
/// declared in).
Place withTensor(const core::Graph& graph, Place place, core::TensorId tensor);

/// The line of the innermost frame outside the engine; none when no frame is known.
std::optional<SourceLine> lineOf(const core::Graph& graph, std::span<const core::FrameId> frames);

}  // namespace msdbg::app
