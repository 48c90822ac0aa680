#include <array>
#include <vector>

#include "core_engine/train/digit_glyphs_internal.h"

namespace msdbg::core {
namespace {

enum class Line {
  kStraight,
  kSmooth,
  kClosed
};  // kSmooth and kClosed: a Catmull-Rom spline through the points
struct Stroke {
  Line line;
  std::vector<Point> points;
};
using Glyph = std::vector<Segment>;

constexpr int kSegmentsPerSpan = 3;

// Only sums and products: the same bits on every machine, unlike sines of another C library.
float spline(float p0, float p1, float p2, float p3, float t) {
  return 0.5f *
         (2 * p1 + t * ((p2 - p0) + t * ((2 * p0 - 5 * p1 + 4 * p2 - p3) + t * (3 * p1 - 3 * p2 + p3 - p0))));
}

Point splineAt(const Stroke& s, std::size_t span, float t) {
  const std::size_t n = s.points.size();
  const auto at = [&](std::size_t i, bool before) -> const Point& {
    if (s.line == Line::kClosed) return s.points[(i + n - (before ? 1 : 0)) % n];
    if (before) return s.points[i == 0 ? 0 : i - 1];
    return s.points[i < n ? i : n - 1];
  };
  const Point &a = at(span, true), &b = at(span, false), &c = at(span + 1, false), &d = at(span + 2, false);
  return {spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)};
}

void addSpline(Glyph& glyph, const Stroke& s) {
  const std::size_t spans = s.points.size() - (s.line == Line::kClosed ? 0 : 1);
  for (std::size_t span = 0; span < spans; ++span)
    for (int i = 0; i < kSegmentsPerSpan; ++i)
      glyph.push_back({splineAt(s, span, static_cast<float>(i) / kSegmentsPerSpan),
                       splineAt(s, span, static_cast<float>(i + 1) / kSegmentsPerSpan)});
}

Glyph makeGlyph(const std::vector<Stroke>& strokes) {
  Glyph glyph;
  for (const Stroke& s : strokes) {
    if (s.line != Line::kStraight)
      addSpline(glyph, s);
    else
      for (std::size_t i = 0; i + 1 < s.points.size(); ++i) glyph.push_back({s.points[i], s.points[i + 1]});
  }
  return glyph;
}

std::array<Glyph, 10> makeGlyphs() {
  using enum Line;
  return {
      makeGlyph({{kClosed,
                  {{.5f, 0},
                   {.78f, .15f},
                   {.84f, .5f},
                   {.78f, .85f},
                   {.5f, 1},
                   {.22f, .85f},
                   {.16f, .5f},
                   {.22f, .15f}}}}),
      makeGlyph({{kStraight, {{.3f, .22f}, {.54f, 0}, {.54f, 1}}}}),
      makeGlyph({{kSmooth,
                  {{.18f, .25f}, {.3f, .04f}, {.56f, 0}, {.78f, .16f}, {.74f, .42f}, {.46f, .7f}, {.15f, 1}}},
                 {kStraight, {{.15f, 1}, {.86f, 1}}}}),
      makeGlyph({{kSmooth, {{.2f, .12f}, {.46f, 0}, {.74f, .1f}, {.74f, .36f}, {.44f, .48f}}},
                 {kSmooth, {{.44f, .48f}, {.76f, .58f}, {.8f, .84f}, {.5f, 1}, {.17f, .88f}}}}),
      makeGlyph({{kStraight, {{.66f, 1}, {.66f, 0}, {.12f, .7f}, {.9f, .7f}}}}),
      makeGlyph({{kStraight, {{.8f, 0}, {.28f, 0}, {.22f, .46f}}},
                 {kSmooth, {{.22f, .46f}, {.5f, .38f}, {.78f, .52f}, {.8f, .8f}, {.52f, 1}, {.17f, .9f}}}}),
      makeGlyph({{kSmooth, {{.72f, .02f}, {.42f, .16f}, {.22f, .48f}, {.2f, .74f}}},
                 {kClosed, {{.5f, .44f}, {.76f, .56f}, {.8f, .78f}, {.52f, 1}, {.24f, .9f}, {.21f, .64f}}}}),
      makeGlyph({{kStraight, {{.14f, 0}, {.84f, 0}, {.4f, 1}}}}),
      makeGlyph({{kClosed, {{.5f, 0}, {.74f, .1f}, {.72f, .36f}, {.5f, .47f}, {.28f, .36f}, {.26f, .1f}}},
                 {kClosed, {{.5f, .47f}, {.78f, .6f}, {.8f, .86f}, {.5f, 1}, {.2f, .86f}, {.22f, .6f}}}}),
      makeGlyph({{kClosed, {{.5f, 0}, {.76f, .1f}, {.79f, .36f}, {.5f, .56f}, {.22f, .44f}, {.22f, .16f}}},
                 {kSmooth, {{.79f, .3f}, {.76f, .6f}, {.62f, .86f}, {.36f, 1}}}}),
  };
}

}  // namespace

std::span<const Segment> digitGlyph(int digit) {
  static const std::array<Glyph, 10> kGlyphs = makeGlyphs();
  return kGlyphs[static_cast<std::size_t>(digit)];
}

}  // namespace msdbg::core
