#include "core_engine/ops/padding.h"

namespace msdbg::core {
namespace {

/// Index `at` of an endless pattern made of 0, 1, … size - 1; -1: outside of a constant's range.
std::int64_t sourceIndex(std::string_view mode, std::int64_t at, std::int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "wrap") return (at % size + size) % size;
  if (mode != "reflect") return -1;
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1), place = (at % period + period) % period;
  return place < size ? place : period - place;
}

Result<Ints> sourcesOf(std::string_view op, std::string_view mode, std::int64_t before, std::int64_t after,
                       std::int64_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const bool bounded = before >= -kMost && before <= kMost && after >= -kMost && after <= kMost;
  if (!bounded || before + size + after < 0 || size > kMost)
    return inferError(op, "pads of " + std::to_string(before) + " and " + std::to_string(after) +
                              " are not possible for a dimension of " + std::to_string(size));
  if (mode != "constant" && size == 0 && before + after > 0)
    return inferError(op, "mode " + std::string(mode) + " cannot pad a dimension of 0");
  Ints source;
  for (std::int64_t at = -before; at < size + after; ++at) source.push_back(sourceIndex(mode, at, size));
  return source;
}

}  // namespace

Shape Padding::shape() const {
  Ints dims;
  for (const Ints& dim : source) dims.push_back(static_cast<std::int64_t>(dim.size()));
  return Shape(std::move(dims));
}

std::int64_t Padding::origin(std::int64_t flat) const {
  std::int64_t offset = 0;
  for (std::size_t d = source.size(); d-- > 0;) {
    const auto size = static_cast<std::int64_t>(source[d].size());
    const std::int64_t at = source[d][static_cast<std::size_t>(flat % size)];
    if (at < 0) return -1;
    offset += at * strides[d];
    flat /= size;
  }
  return offset;
}

Result<Padding> makePadding(std::string_view op, const Shape& original, const Attributes& attributes) {
  const std::string mode = stringAttribute(attributes, "mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return inferError(op,
                      "attribute mode is '" + mode + "', but constant, reflect, edge or wrap was expected");
  const Ints pads = intsAttribute(attributes, "pads", {});
  if (pads.size() != 2 * original.rank())
    return inferError(op, "attribute pads has " + std::to_string(pads.size()) + " numbers, but " +
                              std::to_string(2 * original.rank()) + " were expected");
  Padding p{{}, original.strides()};
  for (std::size_t d = 0; d < original.rank(); ++d) {
    MSDBG_ASSIGN(Ints source, sourcesOf(op, mode, pads[d], pads[d + original.rank()], original[d]));
    p.source.push_back(std::move(source));
  }
  MSDBG_TRY(checkSize(op, "the result", p.shape()));
  return p;
}

std::vector<AttributeDoc> paddingAttributes() {
  return {{"pads", "ints", "required",
           "[begin of each dimension, …, end of each dimension, …]; negative removes"},
          {"mode", "string", "constant", "constant, reflect, edge or wrap"}};
}

}  // namespace msdbg::core
