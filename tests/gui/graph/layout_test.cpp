#include "graph_view/layout/layout.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

#include "graph_view/layout/nested.h"

using namespace msdbg;
using namespace msdbg::graphview;

namespace {

LayoutProblem randomProblem(int boxes, unsigned seed, int longest = 5) {
  std::mt19937 random(seed);
  LayoutProblem problem;
  for (int i = 0; i < boxes; ++i)
    problem.boxes.push_back(
        {60.0 + static_cast<double>(random() % 140), 30.0 + static_cast<double>(random() % 60)});
  for (int to = 1; to < boxes; ++to) {
    const int from = std::max(0, to - 1 - static_cast<int>(random() % static_cast<unsigned>(longest)));
    problem.links.push_back({from, to, 30});
    if (from > 0 && random() % 3 == 0) problem.links.push_back({from - 1, to, 0});
  }
  return problem;
}

bool overlap(const Rect& a, const Rect& b) {
  constexpr double kTouch = 0.5;
  return a.x + kTouch < b.right() && b.x + kTouch < a.right() && a.y + kTouch < b.bottom() &&
         b.y + kTouch < a.bottom();
}

bool onBorder(const Point& at, const Rect& box) {
  constexpr double kNear = 1.5;
  const bool inside = at.x > box.x - kNear && at.x < box.right() + kNear && at.y > box.y - kNear &&
                      at.y < box.bottom() + kNear;
  const bool deep = at.x > box.x + kNear && at.x < box.right() - kNear && at.y > box.y + kNear &&
                    at.y < box.bottom() - kNear;
  return inside && !deep;
}

void checkSound(const LayoutProblem& problem, const LayoutResult& result) {
  REQUIRE(result.boxes.size() == problem.boxes.size());
  REQUIRE(result.curves.size() == problem.links.size());
  REQUIRE(result.labels.size() == problem.links.size());
  int overlaps = 0, outside = 0, loose = 0;
  for (std::size_t i = 0; i < result.boxes.size(); ++i) {
    const Rect& box = result.boxes[i];
    outside += box.x < -0.01 || box.y < -0.01 || box.right() > result.size.width + 0.01 ||
               box.bottom() > result.size.height + 0.01;
    for (std::size_t k = i + 1; k < result.boxes.size(); ++k) overlaps += overlap(box, result.boxes[k]);
  }
  for (std::size_t i = 0; i < problem.links.size(); ++i) {
    const Curve& curve = result.curves[i];
    REQUIRE(curve.size() % 3 == 1);
    loose += !onBorder(curve.front(), result.boxes[static_cast<std::size_t>(problem.links[i].from)]);
    loose += !onBorder(curve.back(), result.boxes[static_cast<std::size_t>(problem.links[i].to)]);
  }
  CHECK(overlaps == 0);
  CHECK(outside == 0);
  CHECK(loose == 0);
}

bool equal(const LayoutResult& a, const LayoutResult& b) {
  return a.size == b.size && a.boxes == b.boxes && a.curves == b.curves && a.labels == b.labels;
}

double millisecondsOf(auto work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("Boxes are kept apart and joined by curves that lead down, twice the same", "[graph_view]") {
  const unsigned seed = GENERATE(1U, 2U, 3U);
  const LayoutProblem problem = randomProblem(40, seed);
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  CHECK(equal(result, layOut(problem)));
  for (const Link& link : problem.links)
    CHECK(result.boxes[static_cast<std::size_t>(link.from)].bottom() <
          result.boxes[static_cast<std::size_t>(link.to)].y);
}

// A library that counted its calls in one byte did not outlive the 127th picture of a session.
TEST_CASE("A long session lays out one picture after the other", "[graph_view]") {
  for (unsigned i = 0; i < 600; ++i) {
    const LayoutProblem problem = randomProblem(2 + static_cast<int>(i % 40), i, 1 + static_cast<int>(i % 9));
    const LayoutResult result = layOut(problem);
    if (i % 20 == 0) checkSound(problem, result);
  }
}

TEST_CASE("A chain is straight where links skip parts of it", "[graph_view]") {
  LayoutProblem problem;
  problem.boxes.assign(9, {80, 40});
  for (int i = 0; i < 8; ++i) problem.links.push_back({i, i + 1, 0});
  problem.links.insert(problem.links.end(), {{0, 3, 0}, {3, 6, 0}, {5, 8, 0}});
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  for (const Rect& box : result.boxes) CHECK(std::abs(box.center().x - result.boxes[0].center().x) < 3);
}

TEST_CASE("A chain is straight where something small leads into every box of it", "[graph_view]") {
  LayoutProblem problem;
  for (int i = 0; i < 12; ++i) {
    problem.boxes.push_back({60, 20}), problem.boxes.push_back({120, 40});
    problem.links.push_back({2 * i, 2 * i + 1, 0});
    if (i > 0) problem.links.push_back({2 * i - 1, 2 * i + 1, 0});
  }
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  CHECK(result.size.width < 350);
}

TEST_CASE("What is made for one reader alone stands right over it", "[graph_view]") {
  LayoutProblem problem;  // a chain of nine boxes and a last one, which also reads what 10 makes of 9
  problem.boxes.assign(12, {80, 40});
  for (int i = 0; i < 8; ++i) problem.links.push_back({i, i + 1, 0});
  problem.links.insert(problem.links.end(), {{8, 11, 0}, {9, 10, 0}, {10, 11, 0}});
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  CHECK(result.boxes[10].y == result.boxes[8].y);
  CHECK(result.boxes[9].y == result.boxes[7].y);
}

TEST_CASE("Links that run over many layers go beside the graph", "[graph_view]") {
  LayoutProblem problem = randomProblem(60, 5, 2);
  for (int i = 0; i < 20; ++i) problem.links.push_back({i, 59 - i, 0});
  const LayoutResult result = layeredLayout(problem);
  checkSound(problem, result);
}

TEST_CASE("A link against the order of time is drawn back to where it leads", "[graph_view]") {
  LayoutProblem problem;
  problem.boxes = {{80, 40}, {80, 40}, {80, 40}};
  problem.links = {{0, 1, 0}, {1, 2, 0}, {2, 0, 0}};
  checkSound(problem, layOut(problem));
}

TEST_CASE("Five hundred boxes are laid out in a fraction of a second, ten times as many in ten times that",
          "[graph_view]") {
  const LayoutProblem problem = randomProblem(500, 11, 8), large = randomProblem(5000, 11, 8);
  LayoutResult result;
  const double some = millisecondsOf([&] { result = layOut(problem); });
  checkSound(problem, result);
  const double many = millisecondsOf([&] { result = layOut(large); });
  WARN("500 boxes: " << some << " ms, 5000 boxes: " << many << " ms");
  CHECK(some < 250);
  CHECK(many < 60 * some + 500);
}

TEST_CASE("Boxes without links are packed into rows", "[graph_view]") {
  LayoutProblem problem;
  problem.boxes.assign(12, {100, 40});
  problem.links = {{0, 1, 0}};
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  CHECK(result.size.width < 6 * 100);
  for (std::size_t i = 2; i < 12; ++i) CHECK(result.boxes[i].y > result.boxes[1].bottom());
}

TEST_CASE("Columns stand side by side with their upper sides in one line", "[graph_view]") {
  LayoutProblem problem;
  problem.boxes = {{200, 900}, {150, 60}, {120, 60}};
  problem.links = {{0, 1, 60}, {1, 2, 60}, {0, 2, 60}};
  problem.columns = true;
  const LayoutResult result = layOut(problem);
  checkSound(problem, result);
  CHECK(result.boxes[0].y == result.boxes[1].y);
  CHECK(result.boxes[1].y == result.boxes[2].y);
  CHECK(result.boxes[0].right() < result.boxes[1].x);
  CHECK(result.boxes[1].right() < result.boxes[2].x);
}

TEST_CASE("What crosses the border of a scope enters in the middle of its top and leaves below",
          "[graph_view]") {
  const bool crowded = GENERATE(false, true);
  LayoutProblem problem = randomProblem(crowded ? 200 : 12, 4);
  const int last = static_cast<int>(problem.boxes.size()) - 1;
  problem.entry = last + 1, problem.exit = last + 2;
  problem.boxes.push_back({0, 0}), problem.boxes.push_back({0, 0});
  problem.links.push_back({problem.entry, 0, 0}), problem.links.push_back({problem.entry, 5, 0});
  problem.links.push_back({last, problem.exit, 0}), problem.links.push_back({3, problem.exit, 0});
  const LayoutResult result = layOut(problem);
  for (std::size_t i = 0; i < problem.links.size(); ++i) {
    if (problem.links[i].from == problem.entry)
      CHECK(result.curves[i].front() == Point{result.size.width / 2, 0});
    if (problem.links[i].to == problem.exit)
      CHECK(result.curves[i].back() == Point{result.size.width / 2, result.size.height});
  }
}

namespace {

// Three scopes in a row; the second holds two scopes with a box each.
Block nestedBlock(bool middleOpen, bool innerOpen) {
  const auto box = [](std::int64_t key) { return Block{key, {100, 40}, {}, {}, false, false}; };
  Block inner{20, {100, 40}, {box(201), box(202)}, {}, innerOpen, false};
  inner.links.links = {{0, 1, 0}};
  Block middle{2, {100, 40}, {inner, box(21)}, {}, middleOpen, false};
  middle.links.links = {{0, 1, 0}};
  Block last{3, {100, 40}, {box(31)}, {}, true, false};
  Block root{0, {}, {box(1), middle, last}, {}, true, true};
  root.links.links = {{0, 1, 0}, {1, 2, 0}};
  return root;
}

}  // namespace

TEST_CASE("Opening a scope lays out that scope and those around it, nothing else", "[graph_view]") {
  NestedLayout nested;
  const auto folded = nested.place(nestedBlock(false, false), {});
  CHECK(nested.laidOut() == 2);  // the root and the last scope
  const auto open = nested.place(nestedBlock(true, false), {});
  CHECK(nested.laidOut() == 4);
  const auto deep = nested.place(nestedBlock(true, true), {});
  CHECK(nested.laidOut() == 7);
  CHECK(nested.place(nestedBlock(true, false), {}) == open);
  CHECK(nested.place(nestedBlock(false, false), {}) == folded);
  CHECK(nested.laidOut() == 7);
  REQUIRE(deep->inner[1]);
  REQUIRE(deep->inner[1]->inner[0]);
  CHECK(deep->layout.boxes[1].width == deep->inner[1]->size.width);
  CHECK(deep->inner[1]->layout.boxes[0].height == deep->inner[1]->inner[0]->size.height);
  for (const Rect& box : deep->inner[1]->layout.boxes) {
    CHECK(box.y >= kHeaderHeight);
    CHECK(box.bottom() <= deep->inner[1]->size.height);
    CHECK(box.x >= 0);
    CHECK(box.right() <= deep->inner[1]->size.width);
  }
  CHECK(deep->size.height > open->size.height);
}

TEST_CASE("A cancelled layout gives nothing and leaves nothing behind", "[graph_view]") {
  NestedLayout nested;
  core::CancelToken cancel;
  cancel.cancel();
  CHECK(nested.place(nestedBlock(true, true), cancel) == nullptr);
  CHECK(nested.place(nestedBlock(true, true), {}) != nullptr);
}
