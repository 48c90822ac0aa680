#include "replay/slice.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core_engine/base/text.h"

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Shape;
using core::Tensor;

namespace {

struct Range {
  std::int64_t first = 0, count = 0, step = 1;
  bool keep = true;  // false: an index, the dimension goes
};

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error bad(const std::string& part, std::size_t dimension, const std::string& why) {
  return {ErrorCode::kUsage, fmt::format("'{}' for dimension {}: {}", part, dimension, why)};
}

Result<Range> parseIndex(const std::string& part, std::size_t dimension, std::int64_t size) {
  const std::optional<std::int64_t> index = integer(part);
  if (!index) return bad(part, dimension, "expected an index, A:B or A:B:STEP");
  const std::int64_t at = *index < 0 ? *index + size : *index;
  if (at < 0 || at >= size) return bad(part, dimension, fmt::format("it has {} elements", size));
  return Range{at, 1, 1, false};
}

// As NumPy does it: ends beyond the dimension are cut, negative ones count from the end.
Result<Range> parsePart(const std::string& part, std::size_t dimension, std::int64_t size) {
  if (part.find(':') == std::string::npos) return parseIndex(part, dimension, size);
  const std::vector<std::string> words = core::split(part, ':');
  std::int64_t bounds[3] = {0, size, 1};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    const std::optional<std::int64_t> value = integer(words[i]);
    if (!value || i > 2) return bad(part, dimension, "expected an index, A:B or A:B:STEP");
    bounds[i] = i < 2 ? std::clamp(*value < 0 ? *value + size : *value, std::int64_t{0}, size) : *value;
  }
  if (bounds[2] < 1) return bad(part, dimension, "the step must be at least 1");
  const std::int64_t length = std::max(bounds[1] - bounds[0], std::int64_t{0});
  return Range{bounds[0], (length + bounds[2] - 1) / bounds[2], bounds[2], true};
}

// One part for each dimension: `...` and what is missing at the end become `:`.
Result<std::vector<std::string>> completeParts(const std::string& slice, std::size_t rank) {
  std::vector<std::string> parts = core::split(slice, ',');
  for (std::string& part : parts) std::erase(part, ' ');
  const auto dots = std::ranges::find(parts, "...");
  const std::size_t given = parts.size() - (dots != parts.end() ? 1 : 0);
  if (given > rank)
    return Error(ErrorCode::kUsage, fmt::format("{} parts, but the tensor has {} dimensions", given, rank));
  const auto at = dots == parts.end() ? dots : parts.erase(dots);
  parts.insert(at, rank - given, ":");
  return parts;
}

void copyRanges(const Tensor& from, const std::vector<Range>& ranges, std::size_t dimension,
                std::size_t offset, std::byte*& out) {
  const std::size_t size = core::dtypeSize(from.dtype());
  if (dimension == ranges.size()) {
    memcpy(out, static_cast<const std::byte*>(from.raw()) + offset * size, size);
    out += size;
    return;
  }
  const std::int64_t stride = from.shape().strides()[dimension];
  for (std::int64_t i = 0; i < ranges[dimension].count; ++i)
    copyRanges(
        from, ranges, dimension + 1,
        offset + static_cast<std::size_t>((ranges[dimension].first + i * ranges[dimension].step) * stride),
        out);
}

Result<std::vector<Range>> rangesOf(const Shape& shape, const std::string& slice) {
  MSDBG_ASSIGN(const std::vector<std::string> parts, completeParts(slice, shape.rank()));
  std::vector<Range> ranges;
  for (std::size_t d = 0; d < parts.size(); ++d) {
    MSDBG_ASSIGN(const Range range, parsePart(parts[d], d, shape[d]));
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

Result<Tensor> sliceTensor(const Tensor& tensor, const std::string& slice) {
  MSDBG_ASSIGN(const std::vector<Range> ranges, rangesOf(tensor.shape(), slice));
  std::vector<std::int64_t> dims;
  for (const Range& range : ranges)
    if (range.keep) dims.push_back(range.count);
  Tensor result(tensor.dtype(), Shape(std::move(dims)));
  std::byte* out = static_cast<std::byte*>(result.raw());
  copyRanges(tensor, ranges, 0, 0, out);
  return result;
}

core::Status checkSlice(const Shape& shape, const std::string& slice) {
  MSDBG_TRY(rangesOf(shape, slice));
  return core::Ok{};
}

}  // namespace msdbg::replay
