// Layout by Graphviz's dot (cgraph and gvc 2.42). Graphviz keeps global state, so one call at a time.
#include <fmt/format.h>
#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <clocale>
#include <memory>
#include <mutex>
#include <string>

#include "graph_view/layout/layout.h"

namespace msdbg::graphview {
namespace {

constexpr double kPointsPerInch = 72;  // one pixel of ours is one point of dot's

std::string number(double value) {
  // Graphviz reads numbers with the locale of the thread, which is set to "C" around the call.
  return fmt::format("{:.4f}", value);
}

// A window's locale may write numbers with a comma.
class PlainNumbers {
 public:
  PlainNumbers() : m_plain(newlocale(LC_NUMERIC_MASK, "C", nullptr)) {
    if (m_plain) m_before = uselocale(m_plain);
  }
  ~PlainNumbers() {
    if (!m_plain) return;
    uselocale(m_before);
    freelocale(m_plain);
  }
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;

 private:
  locale_t m_plain, m_before = nullptr;
};

// The API takes char* for what it only reads.
char* text(const char* constant) { return const_cast<char*>(constant); }
void set(void* object, const char* name, const std::string& value) {
  agsafeset(object, text(name), text(value.c_str()), text(""));
}

GVC_t* context() {
  struct Free {
    void operator()(GVC_t* gvc) const { gvFreeContext(gvc); }
  };
  static const std::unique_ptr<GVC_t, Free> kContext(gvContext());
  return kContext.get();
}

class Dot {
 public:
  explicit Dot(const LayoutProblem& problem) : m_problem(problem) {
    m_graph = agopen(text("scope"), Agdirected, nullptr);
    set(m_graph, "nodesep", number(kBoxGap / kPointsPerInch));
    set(m_graph, "ranksep", number(kLayerGap / kPointsPerInch));
    set(m_graph, "nslimit", "6");  // bounds the work of dot's network simplex
    set(m_graph, "nslimit1", "6");
    addNodes();
    addEdges();
    addGroups();
  }
  ~Dot() {
    if (m_laidOut) gvFreeLayout(context(), m_graph);
    agclose(m_graph);
  }
  Dot(const Dot&) = delete;
  Dot& operator=(const Dot&) = delete;

  bool run() {
    m_laidOut = context() && gvLayout(context(), m_graph, "dot") == 0;
    return m_laidOut;
  }

  LayoutResult result() const {
    LayoutResult result;
    const double height = GD_bb(m_graph).UR.y;  // dot's y grows upwards
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
      const Size& size = m_problem.boxes[i];
      const pointf center = ND_coord(m_nodes[i]);
      result.boxes.push_back(
          {center.x - size.width / 2, height - center.y - size.height / 2, size.width, size.height});
    }
    for (std::size_t i = 0; i < m_edges.size(); ++i)
      result.curves.push_back(curveOf(i, height, result.boxes));
    return result;
  }

 private:
  void addNodes() {
    for (std::size_t i = 0; i < m_problem.boxes.size(); ++i) {
      Agnode_t* node = agnode(m_graph, text(std::to_string(i).c_str()), 1);
      set(node, "shape", "box");
      set(node, "fixedsize", "true");
      set(node, "label", "");
      set(node, "width", number(std::max(1.0, m_problem.boxes[i].width) / kPointsPerInch));
      set(node, "height", number(std::max(1.0, m_problem.boxes[i].height) / kPointsPerInch));
      m_nodes.push_back(node);
    }
    pin(m_problem.entry, "source");
    pin(m_problem.exit, "sink");
  }
  bool isForwards(const Link& link) const {
    return link.from < link.to || link.from == m_problem.entry || link.to == m_problem.exit;
  }
  void pin(int box, const char* rank) {
    if (box < 0) return;
    Agraph_t* alone = agsubg(m_graph, text(rank), 1);
    set(alone, "rank", rank);
    agsubnode(alone, m_nodes[static_cast<std::size_t>(box)], 1);
  }
  void addEdges() {
    for (const Link& link : m_problem.links) {
      Agedge_t* edge = agedge(m_graph, m_nodes[static_cast<std::size_t>(link.from)],
                              m_nodes[static_cast<std::size_t>(link.to)], nullptr, 1);
      set(edge, "dir", "none");
      const bool forwards = isForwards(link);
      if (forwards) set(edge, "tailport", "s"), set(edge, "headport", "n");
      if (!forwards) set(edge, "constraint", "false");
      m_edges.push_back(edge);
    }
  }
  void addGroups() {
    for (std::size_t i = 0; i < m_problem.groups.size(); ++i) {
      Agraph_t* cluster = agsubg(m_graph, text(("cluster_" + std::to_string(i)).c_str()), 1);
      set(cluster, "margin", "14");
      for (const int member : m_problem.groups[i])
        agsubnode(cluster, m_nodes[static_cast<std::size_t>(member)], 1);
    }
  }

  // An edge that dot could not route is drawn straight. dot rounds to whole points: the ends are put right.
  Curve curveOf(std::size_t edge, double height, const std::vector<Rect>& boxes) const {
    const splines* drawn = ED_spl(m_edges[edge]);
    const Link& link = m_problem.links[edge];
    const Rect &from = boxes[static_cast<std::size_t>(link.from)],
               &to = boxes[static_cast<std::size_t>(link.to)];
    const Point start{from.center().x, from.bottom()}, end{to.center().x, to.y};
    if (!drawn || drawn->size < 1 || drawn->list[0].size < 4) return straightCurve(start, end);
    Curve curve;
    const bezier& piece = drawn->list[0];
    for (int i = 0; i < piece.size; ++i) curve.push_back({piece.list[i].x, height - piece.list[i].y});
    if (isForwards(link)) curve.front() = start, curve.back() = end;
    return curve;
  }

  const LayoutProblem& m_problem;
  Agraph_t* m_graph = nullptr;
  std::vector<Agnode_t*> m_nodes;
  std::vector<Agedge_t*> m_edges;
  bool m_laidOut = false;
};

}  // namespace

std::optional<LayoutResult> dotLayout(const LayoutProblem& problem) {
  static std::mutex one;
  const std::lock_guard<std::mutex> lock(one);
  const PlainNumbers plain;
  agseterr(AGMAX);  // what goes wrong is told by the result, not on stderr
  Dot dot(problem);
  if (!dot.run()) return std::nullopt;
  LayoutResult result = dot.result();
  placeLabels(problem, result);
  frame(problem, result);
  return result;
}

}  // namespace msdbg::graphview
