#include "core_engine/ops/slicing.h"

#include "core_engine/ops/gradient.h"

namespace msdbg::core {
namespace {

struct Part {
  std::int64_t first, count, step;
};

std::int64_t fromEnd(std::int64_t at, std::int64_t size) {
  return at >= 0 ? at : at < -size ? -1 : at + size;  // -1: before the first
}

/// The part [start:end:step] of a dimension.
Part partOf(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  if (step > 0) {
    const std::int64_t first = std::clamp<std::int64_t>(fromEnd(start, size), 0, size);
    const std::int64_t last = std::clamp<std::int64_t>(fromEnd(end, size), 0, size);
    return {first, last <= first ? 0 : (last - first - 1) / step + 1, step};
  }
  const std::int64_t first = std::clamp<std::int64_t>(fromEnd(start, size), -1, size - 1);
  const std::int64_t last = std::clamp<std::int64_t>(fromEnd(end, size), -1, size - 1);
  return {std::max<std::int64_t>(first, 0), first <= last ? 0 : (first - last - 1) / -step + 1, step};
}

Ints firstAxes(std::size_t count) {
  Ints axes(count);
  for (std::size_t i = 0; i < count; ++i) axes[i] = static_cast<std::int64_t>(i);
  return axes;
}

bool stepsAreGood(const Ints& steps) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  return std::ranges::all_of(steps, [](std::int64_t s) { return s != 0 && s >= -kMost && s <= kMost; });
}

}  // namespace

Result<Slicing> makeSlicing(std::string_view op, const Shape& whole, const Attributes& attributes) {
  const Ints starts = intsAttribute(attributes, "starts", {}), ends = intsAttribute(attributes, "ends", {});
  const Ints axes = intsAttribute(attributes, "axes", firstAxes(starts.size()));
  const Ints steps = intsAttribute(attributes, "steps", Ints(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return inferError(op, "attributes starts, ends, axes and steps must have one number per sliced axis");
  if (!stepsAreGood(steps))
    return inferError(op, "attribute steps is " + Shape(steps).text() + ", but none may be 0 or beyond 2^40");
  Slicing s{whole, {0, whole.strides()}};
  std::vector<bool> seen(whole.rank(), false);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    MSDBG_ASSIGN(const std::size_t d, checkAxis(op, axes[i], whole.rank()));
    if (seen[d]) return inferError(op, "attribute axes names dimension " + std::to_string(d) + " twice");
    seen[d] = true;
    const Part part = partOf(starts[i], ends[i], steps[i], whole[d]);
    s.grid.first += part.first * s.grid.strides[d];
    s.grid.strides[d] *= part.count > 1 ? part.step : 1;
    s.shape[d] = part.count;
  }
  return s;
}

std::vector<AttributeDoc> slicingAttributes() {
  return {{"starts", "ints", "required", "first index of each sliced axis; negative counts from the end"},
          {"ends", "ints", "required", "index after the last; negative counts from the end"},
          {"axes", "ints", "the first ones", "which axes are sliced"},
          {"steps", "ints", "1", "distance of the indices; negative goes backwards"}};
}

}  // namespace msdbg::core
