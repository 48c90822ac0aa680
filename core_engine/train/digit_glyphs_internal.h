// The ten digits as line segments in a unit box, x to the right, y down. Immutable; made on first use.
#pragma once

#include <span>

namespace msdbg::core {

struct Point {
  float x, y;
};
struct Segment {
  Point a, b;
};

/// digit: 0 to 9.
std::span<const Segment> digitGlyph(int digit);

}  // namespace msdbg::core
