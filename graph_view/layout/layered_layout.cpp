// Layered layout of linear cost (after Sugiyama, Tagawa and Toda, 1981): layers by longest path, order within
// a layer by medians in a fixed number of sweeps, x by least squares within each layer (pool adjacent
// violators). Long links do not cross every layer between: they run in lanes beside the graph.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <ranges>

#include "graph_view/layout/layout.h"

namespace msdbg::graphview {
namespace {

constexpr int kOrderSweeps = 6, kPlaceSweeps = 8, kLongestInside = 6;
constexpr double kLaneGap = 10, kMostLanes = 30, kBendWidth = 6, kBendGap = 14;

// A box, or the bend of a link in a layer that it passes.
struct Cell {
  int layer = 0;
  Size size;
  bool bend = false;
  double x = 0;       // centre
  bool side = false;  // leads into a longer chain: stands beside it
  std::vector<int> up, down;
};

class Layered {
 public:
  Layered(const LayoutProblem& problem, const core::CancelToken& cancel)
      : m_problem(problem), m_cancel(cancel) {}

  LayoutResult run() {
    makeCells();
    assignLayers();
    pullDown();
    makeBends();
    for (int sweep = 0; sweep < kOrderSweeps && !m_cancel.cancelled(); ++sweep) order(sweep % 2 == 0);
    placeY();
    spread();
    for (int sweep = 0; sweep < kPlaceSweeps && !m_cancel.cancelled(); ++sweep) place(sweep % 2 == 0);
    return result();
  }

 private:
  using Index = std::size_t;
  static Index at(int i) { return static_cast<Index>(i); }

  // Links against the order of time are turned for the layout.
  std::pair<int, int> downwards(const Link& link) const {
    const bool border = link.from == m_problem.entry || link.to == m_problem.exit;
    return link.from < link.to || border ? std::pair(link.from, link.to) : std::pair(link.to, link.from);
  }

  void makeCells() {
    for (const Size& size : m_problem.boxes) m_cells.push_back({0, size, false, 0, false, {}, {}});
    m_in.resize(m_cells.size()), m_out.resize(m_cells.size());
    for (const Link& link : m_problem.links) {
      const auto [from, to] = downwards(link);
      m_out[at(from)].push_back(to), m_in[at(to)].push_back(from);
    }
    // Time order: the entry first, the exit last, else by index.
    m_time.resize(m_cells.size());
    std::iota(m_time.begin(), m_time.end(), 0);
    const auto rankOf = [&](int box) { return box == m_problem.entry ? 0 : box == m_problem.exit ? 2 : 1; };
    std::ranges::stable_sort(m_time, {}, rankOf);
  }

  void assignLayers() {
    int last = 0;
    for (const int box : m_time) {
      int layer = m_problem.entry >= 0 && box != m_problem.entry ? 1 : 0;
      for (const int from : m_in[at(box)]) layer = std::max(layer, m_cells[at(from)].layer + 1);
      m_cells[at(box)].layer = layer;
      last = std::max(last, layer);
    }
    if (m_problem.exit >= 0) m_cells[at(m_problem.exit)].layer = last;
  }

  // A source stands right over its first reader, and so does what is made of such sources for one reader.
  void pullDown() {
    std::vector<bool> hanging(m_problem.boxes.size());
    const auto hangs = [&](int from) { return hanging[at(from)] && m_out[at(from)].size() == 1; };
    for (const int box : m_time)
      hanging[at(box)] = box != m_problem.entry && std::ranges::all_of(m_in[at(box)], hangs);
    for (const int box : m_time | std::views::reverse) {
      if (!hanging[at(box)] || m_out[at(box)].empty()) continue;
      int nearest = m_cells[at(m_out[at(box)].front())].layer;
      for (const int to : m_out[at(box)]) nearest = std::min(nearest, m_cells[at(to)].layer);
      m_cells[at(box)].side = m_cells[at(box)].layer < nearest - 1;
      m_cells[at(box)].layer = std::max(m_cells[at(box)].layer, nearest - 1);
    }
  }

  void makeBends() {
    m_paths.resize(m_problem.links.size());
    for (Index i = 0; i < m_problem.links.size(); ++i) {
      const auto [from, to] = downwards(m_problem.links[i]);
      const int top = m_cells[at(from)].layer, bottom = m_cells[at(to)].layer;
      m_paths[i] = {from};
      if (bottom - top > kLongestInside) {
        m_paths[i].push_back(to);
        m_inLane.push_back(static_cast<int>(i));
        continue;
      }
      for (int layer = top + 1; layer < bottom; ++layer) {
        m_paths[i].push_back(static_cast<int>(m_cells.size()));
        m_cells.push_back({layer, {kBendWidth, 0}, true, 0, false, {}, {}});
      }
      m_paths[i].push_back(to);
      for (Index k = 0; k + 1 < m_paths[i].size(); ++k) {
        m_cells[at(m_paths[i][k])].down.push_back(m_paths[i][k + 1]);
        m_cells[at(m_paths[i][k + 1])].up.push_back(m_paths[i][k]);
      }
    }
    int layers = 0;
    for (const Cell& cell : m_cells) layers = std::max(layers, cell.layer + 1);
    m_layers.resize(at(layers));
    for (Index i = 0; i < m_cells.size(); ++i) m_layers[at(m_cells[i].layer)].push_back(static_cast<int>(i));
    m_position.resize(m_cells.size());
    for (const auto& layer : m_layers) number(layer);
  }

  void number(const std::vector<int>& layer) {
    for (Index i = 0; i < layer.size(); ++i) m_position[at(layer[i])] = static_cast<double>(i);
  }

  template <typename Value>
  double median(const std::vector<int>& cells, double otherwise, Value value) {
    if (cells.empty()) return otherwise;
    m_scratch.clear();
    for (const int cell : cells) m_scratch.push_back(value(cell));
    std::ranges::sort(m_scratch);
    const Index half = m_scratch.size() / 2;
    return m_scratch.size() % 2 ? m_scratch[half] : (m_scratch[half - 1] + m_scratch[half]) / 2;
  }

  void order(bool down) {
    std::vector<std::pair<double, int>> keyed;
    const auto sweep = [&](std::vector<int>& layer) {
      keyed.clear();
      for (const int cell : layer)
        keyed.emplace_back(median(down ? m_cells[at(cell)].up : m_cells[at(cell)].down, m_position[at(cell)],
                                  [&](int other) { return m_position[at(other)]; }),
                           cell);
      std::ranges::stable_sort(keyed, {}, &std::pair<double, int>::first);
      for (Index i = 0; i < layer.size(); ++i) layer[i] = keyed[i].second;
      number(layer);
    };
    if (down) std::ranges::for_each(m_layers, sweep);
    if (!down) std::ranges::for_each(m_layers | std::views::reverse, sweep);
  }

  void placeY() {
    double y = 0;
    for (const auto& layer : m_layers) {
      double height = 0;
      for (const int cell : layer) height = std::max(height, m_cells[at(cell)].size.height);
      m_top.push_back(y), m_height.push_back(height);
      y += height + kLayerGap;
    }
  }

  double distance(int left, int right) const {
    const Cell &a = m_cells[at(left)], &b = m_cells[at(right)];
    return (a.size.width + b.size.width) / 2 + (a.bend || b.bend ? kBendGap : kBoxGap);
  }

  void spread() {
    for (const auto& layer : m_layers) {
      double x = 0;
      for (Index i = 0; i < layer.size(); ++i) {
        if (i > 0) x += distance(layer[i - 1], layer[i]);
        m_cells[at(layer[i])].x = x;
      }
      for (const int cell : layer) m_cells[at(cell)].x -= x / 2;
    }
  }

  void place(bool down) {
    const auto sweep = [&](const std::vector<int>& layer) { placeLayer(layer, down); };
    if (down) std::ranges::for_each(m_layers, sweep);
    if (!down) std::ranges::for_each(m_layers | std::views::reverse, sweep);
  }

  // What a cell stands under (or over): a box its next boxes, so that a chain is straight and what skips a
  // part of it or leads into it goes around; a bend the next bend.
  const std::vector<int>& alikeOf(const Cell& cell, const std::vector<int>& others) {
    m_alike.clear();
    for (const int other : others)
      if (m_cells[at(other)].bend == cell.bend && (cell.side || !m_cells[at(other)].side))
        m_alike.push_back(other);
    return m_alike;
  }

  // Least squares under "keeps its distance to the left neighbour": subtracting the distances makes it
  // isotonic regression, which pooling neighbours that are out of order solves in one pass.
  void placeLayer(const std::vector<int>& layer, bool down) {
    struct Pool {
      double sum, weight;
      Index cells;
      double mean() const { return sum / weight; }
    };
    std::vector<Pool> pools;
    double offset = 0;
    for (Index i = 0; i < layer.size(); ++i) {
      const Cell& cell = m_cells[at(layer[i])];
      if (i > 0) offset += distance(layer[i - 1], layer[i]);
      const std::vector<int>& others = down ? cell.up : cell.down;
      const std::vector<int>& alike = alikeOf(cell, others);
      const double wanted =
          median(alike.empty() ? others : alike, cell.x, [&](int other) { return m_cells[at(other)].x; });
      const double weight = alike.empty() || cell.side ? 0.001 : cell.bend ? 4 : 1;
      pools.push_back({(wanted - offset) * weight, weight, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight,
                        pools.back().cells + last.cells};
      }
    }
    Index i = 0;
    offset = 0;
    for (const Pool& pool : pools) {
      for (Index k = 0; k < pool.cells; ++k, ++i) {
        if (i > 0) offset += distance(layer[i - 1], layer[i]);
        m_cells[at(layer[i])].x = pool.mean() + offset;
      }
    }
  }

  Rect boxOf(int box) const {
    const Cell& cell = m_cells[at(box)];
    return {cell.x - cell.size.width / 2,
            m_top[at(cell.layer)] + (m_height[at(cell.layer)] - cell.size.height) / 2, cell.size.width,
            cell.size.height};
  }

  LayoutResult result() {
    LayoutResult result;
    for (Index i = 0; i < m_problem.boxes.size(); ++i) result.boxes.push_back(boxOf(static_cast<int>(i)));
    for (Index i = 0; i < m_problem.links.size(); ++i) {
      result.curves.push_back(curveOf(m_paths[i]));
      if (downwards(m_problem.links[i]).first != m_problem.links[i].from)
        std::ranges::reverse(result.curves.back());
    }
    routeLanes(result);
    placeLabels(m_problem, result);
    frame(m_problem, result);
    return result;
  }

  // Straight down through the layers of its bends, curved in the gaps between.
  Curve curveOf(const std::vector<int>& path) const {
    const Rect first = boxOf(path.front());
    Curve curve = {{first.center().x, first.bottom()}};
    for (Index i = 1; i < path.size(); ++i) {
      const Rect to = boxOf(path[i]);
      const bool bend = m_cells[at(path[i])].bend;
      const double top = m_top[at(m_cells[at(path[i])].layer)];
      const double height = m_height[at(m_cells[at(path[i])].layer)];
      append(curve, {to.center().x, bend ? top : to.y});
      if (bend && height > 0) append(curve, {to.center().x, top + height});
    }
    return curve;
  }
  static void append(Curve& curve, Point to) {
    const Curve piece = straightCurve(curve.back(), to);
    curve.insert(curve.end(), piece.begin() + 1, piece.end());
  }

  // Long links go down beside the graph, in the first lane that is free again; beyond kMostLanes they share.
  void routeLanes(LayoutResult& result) {
    double right = 0;
    for (const Cell& cell : m_cells) right = std::max(right, cell.x + cell.size.width / 2);
    std::ranges::stable_sort(m_inLane, {},
                             [&](int link) { return m_cells[at(m_paths[at(link)].front())].layer; });
    std::vector<int> freeFrom;  // by lane: the layer below which it is free
    using Busy = std::pair<int, int>;
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    for (const int link : m_inLane) {
      const int from = m_paths[at(link)].front(), to = m_paths[at(link)].back();
      int lane = static_cast<int>(freeFrom.size());
      if (!busy.empty() && busy.top().first < m_cells[at(from)].layer) {
        lane = busy.top().second;
        busy.pop();
      } else {
        freeFrom.push_back(0);
      }
      busy.emplace(m_cells[at(to)].layer, lane);
      const double x = right + kBoxGap + kLaneGap * std::fmod(lane, kMostLanes);
      result.curves[at(link)] = laneCurve(boxOf(from), boxOf(to), x);
      if (m_problem.links[at(link)].from != from) std::ranges::reverse(result.curves[at(link)]);
    }
  }
  static Curve laneCurve(const Rect& from, const Rect& to, double x) {
    const Point start{from.center().x, from.bottom()}, end{to.center().x, to.y};
    const double turn = kLayerGap * 0.8;
    Curve curve = {start, {start.x, start.y + turn}, {x, start.y - turn / 2}, {x, start.y + turn}};
    const Point below{x, end.y - turn};
    const double third = (below.y - curve.back().y) / 3;
    curve.insert(curve.end(), {{x, curve.back().y + third}, {x, below.y - third}, below});
    curve.insert(curve.end(), {{x, end.y + turn / 2}, {end.x, end.y - turn}, end});
    return curve;
  }

  const LayoutProblem& m_problem;
  const core::CancelToken& m_cancel;
  std::vector<Cell> m_cells;
  std::vector<std::vector<int>> m_in, m_out;  // by box, downwards
  std::vector<int> m_time;
  std::vector<std::vector<int>> m_paths;   // by link: cells from top to bottom
  std::vector<std::vector<int>> m_layers;  // cells from left to right
  std::vector<double> m_position, m_top, m_height, m_scratch;
  std::vector<int> m_inLane, m_alike;
};

}  // namespace

LayoutResult layeredLayout(const LayoutProblem& problem, const core::CancelToken& cancel) {
  return Layered(problem, cancel).run();
}

}  // namespace msdbg::graphview
