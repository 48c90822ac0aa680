#include "app/presenters/cursor.h"

#include <algorithm>
#include <cmath>

namespace msdbg::app {
namespace {

constexpr std::size_t kMostHistory = 500;

core::Iteration nearest(const std::vector<core::Iteration>& sorted, core::Iteration wanted) {
  if (sorted.empty()) return {};
  const auto above = std::ranges::lower_bound(sorted, wanted);
  if (above == sorted.end()) return sorted.back();
  if (above == sorted.begin()) return *above;
  const auto below = above - 1;
  return above->value - wanted.value < wanted.value - below->value ? *above : *below;
}

// Steps of the position alone are one entry: back goes to where the selection was, not through 40 keystrokes.
bool onlyPositionDiffers(const Place& a, const Place& b) {
  return a.nodes == b.nodes && a.tensor == b.tensor && a.line == b.line;
}

}  // namespace

std::optional<SourceLine> lineOf(const core::Graph& graph, std::span<const core::FrameId> frames) {
  const core::Frame* frame = graph.userFrame(frames);
  return frame ? std::optional(SourceLine{frame->file, frame->line}) : std::nullopt;
}

Place withNodes(const core::Graph& graph, Place place, std::vector<core::NodeId> nodes,
                std::optional<SourceLine> line) {
  place.nodes = std::move(nodes);
  place.tensor = {};
  place.line = std::move(line);
  if (place.nodes.empty()) return place;
  const core::Node& first = graph.node(place.nodes.front());
  if (!first.outputs.empty()) place.tensor = first.outputs.front();
  if (!place.line) place.line = lineOf(graph, first.frames);
  return place;
}

Place withTensor(const core::Graph& graph, Place place, core::TensorId tensor) {
  const core::TensorInfo& info = graph.tensor(tensor);
  place.tensor = tensor;
  place.nodes = info.isSource() ? graph.consumers(tensor) : std::vector<core::NodeId>{info.producer};
  place.line =
      lineOf(graph, info.isSource() ? std::span<const core::FrameId>(info.frames)
                                    : std::span<const core::FrameId>(graph.node(info.producer).frames));
  return place;
}

Cursor::Cursor(std::shared_ptr<const RunFacts> facts, QObject* parent)
    : QObject(parent), m_facts(std::move(facts)) {
  if (!m_facts->ranks.empty()) m_place.rank = m_facts->ranks.front();
  m_place = normalized(m_place);
  m_history = {m_place};
}

Place Cursor::normalized(Place place) const {
  if (std::ranges::find(m_facts->ranks, place.rank) == m_facts->ranks.end())
    place.rank = m_facts->ranks.empty() ? core::Rank() : m_facts->ranks.front();
  const auto found = m_facts->iterations.find(place.rank);
  place.iteration = nearest(
      found == m_facts->iterations.end() ? std::vector<core::Iteration>{} : found->second, place.iteration);
  return place;
}

void Cursor::go(Place place, bool remember) {
  place = normalized(std::move(place));
  if (place == m_place) return;
  const bool position = place.rank != m_place.rank || place.iteration != m_place.iteration;
  const bool selection = !onlyPositionDiffers(place, m_place);
  m_place = place;
  if (remember) {
    m_history.resize(m_at + 1);
    const bool sameWalk = !selection && m_at > 0 && onlyPositionDiffers(m_history[m_at], m_history[m_at - 1]);
    if (!sameWalk) m_history.emplace_back(), ++m_at;
    m_history[m_at] = m_place;
    if (m_history.size() > kMostHistory) m_history.erase(m_history.begin()), --m_at;
  }
  if (position) emit positionChanged();
  if (selection) emit selectionChanged();
  emit moved();
}

void Cursor::setRank(core::Rank rank) {
  if (std::ranges::find(m_facts->ranks, rank) == m_facts->ranks.end()) return;
  Place place = m_place;
  place.rank = rank;
  go(std::move(place), true);
}

void Cursor::setIteration(core::Iteration iteration) {
  Place place = m_place;
  place.iteration = iteration;
  go(std::move(place), true);
}

void Cursor::stepIteration(int steps) {
  const auto found = m_facts->iterations.find(m_place.rank);
  if (found == m_facts->iterations.end() || found->second.empty()) return;
  const auto& list = found->second;
  const auto at = std::ranges::lower_bound(list, m_place.iteration) - list.begin();
  setIteration(list[static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(at + steps, 0, static_cast<std::ptrdiff_t>(list.size()) - 1))]);
}

void Cursor::stepRank(int steps) {
  const auto& ranks = m_facts->ranks;
  if (ranks.empty()) return;
  const auto at = std::ranges::find(ranks, m_place.rank) - ranks.begin();
  setRank(ranks[static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(at + steps, 0, static_cast<std::ptrdiff_t>(ranks.size()) - 1))]);
}

void Cursor::setFacts(std::shared_ptr<const RunFacts> facts) {
  m_facts = std::move(facts);
  go(m_place, false);
}

bool Cursor::atLastIteration() const {
  const auto found = m_facts->iterations.find(m_place.rank);
  if (found == m_facts->iterations.end() || found->second.empty()) return true;
  return m_place.iteration == found->second.back();
}

void Cursor::follow() {
  const auto found = m_facts->iterations.find(m_place.rank);
  if (found == m_facts->iterations.end() || found->second.empty()) return;
  Place place = m_place;
  place.iteration = found->second.back();
  m_history[m_at] = place;
  go(std::move(place), false);
}

void Cursor::selectNode(core::NodeId node) { selectNodes({node}); }

void Cursor::selectNodes(std::vector<core::NodeId> nodes, std::optional<SourceLine> line) {
  go(withNodes(*m_facts->graph, m_place, std::move(nodes), std::move(line)), true);
}

void Cursor::selectTensor(core::TensorId tensor) { go(withTensor(*m_facts->graph, m_place, tensor), true); }

void Cursor::clearSelection() { go({m_place.rank, m_place.iteration, {}, {}, {}}, true); }

void Cursor::moveTo(Place place) { go(std::move(place), true); }

void Cursor::back() {
  if (canGoBack()) go(m_history[--m_at], false);
}

void Cursor::forward() {
  if (canGoForward()) go(m_history[++m_at], false);
}

}  // namespace msdbg::app
