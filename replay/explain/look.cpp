#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core_engine/base/text.h"
#include "replay/describe.h"
#include "replay/explain/look_internal.h"
#include "replay/inspect.h"

namespace msdbg::replay {

using core::Iteration;
using core::Rank;
using core::Result;
using core::Tensor;
using core::TensorId;

namespace {

constexpr std::size_t kKeptValues = 8;       // the inputs of most operators
constexpr std::int64_t kFewElements = 16;    // of fewer, one says nothing of what is usual
constexpr double kHugeWithoutHistory = 1e8;  // where all of a tensor has grown, its median tells nothing
constexpr std::int64_t kMostForMedian = 1 << 20;

std::optional<double> medianMagnitude(const Tensor& value) {
  if (!core::isFloating(value.dtype()) || value.elements() < kFewElements) return std::nullopt;
  const std::int64_t step = value.elements() / kMostForMedian + 1;
  std::vector<double> magnitudes;
  for (std::int64_t i = 0; i < value.elements(); i += step)
    if (const double x = value.at(i); std::isfinite(x)) magnitudes.push_back(std::abs(x));
  if (magnitudes.empty()) return std::nullopt;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::ranges::nth_element(magnitudes, middle);
  return *middle;
}

}  // namespace

std::optional<std::int64_t> tellingElement(const Tensor& value, const core::CancelToken& cancel) {
  const NonFinite wrong = findNonFinite(value, 1, cancel);
  if (!wrong.first.empty()) return wrong.first.front().flatIndex;
  std::optional<std::int64_t> best;
  double most = -1;
  for (std::int64_t i = 0; i < value.elements() && !cancel.cancelled(); ++i)
    if (const double x = std::abs(value.at(i)); x > most) best = i, most = x;
  return best;
}

Result<Tensor> ExplainLook::value(Rank rank, Iteration iteration, TensorId tensor) {
  const Key key{rank, iteration, tensor};
  const auto kept = std::ranges::find(m_values, key, &std::pair<Key, Tensor>::first);
  if (kept != m_values.end()) {
    m_values.splice(m_values.begin(), m_values, kept);
    return kept->second;
  }
  const core::TensorInfo& info = graph().tensor(tensor);
  Result<Tensor> found =
      info.value.valid() ? Result<Tensor>(info.value) : source().value(rank, iteration, tensor);
  if (!found.ok() && found.error().code() == core::ErrorCode::kUnavailable && m_options.computed) {
    Result<Tensor> computed = m_options.computed->value(rank, iteration, tensor);
    if (computed.ok() || computed.error().code() == core::ErrorCode::kCancelled)
      found = std::move(computed);
    else
      found = core::Error(core::ErrorCode::kUnavailable,
                          found.error().message() + "; nor computed again: " + computed.error().message());
  }
  if (!found.ok()) return found;
  m_values.emplace_front(key, *found);
  if (m_values.size() > kKeptValues) m_values.pop_back();
  return found;
}

// Only recorded rows: those of 50 iterations are not worth to be computed again.
std::optional<ExplainLook::Usual> ExplainLook::usual(Rank rank, Iteration iteration, TensorId tensor) {
  const auto [at, isNew] = m_usual.try_emplace({rank, iteration, tensor});
  if (!isNew) return at->second;
  if (const auto range = watch::usualRange(source(), rank, iteration, tensor)) {
    at->second = {range->meanAbs,
                  fmt::format("usually {} (mean magnitude, median of {})",
                              core::formatShort(range->meanAbs, 3), counted(range->iterations, "iteration")),
                  true};
  } else if (const auto now = value(rank, iteration, tensor); now.ok()) {
    if (const auto median = medianMagnitude(*now))
      at->second = {*median,
                    fmt::format("usually {} (median magnitude of the tensor)", core::formatShort(*median, 3)),
                    false};
  }
  return at->second;
}

std::string ExplainLook::unusualText(Rank rank, Iteration iteration, TensorId tensor, double value) {
  if (!std::isfinite(value) || !core::isFloating(graph().tensor(tensor).dtype)) return {};
  const double magnitude = std::abs(value);
  const auto known = usual(rank, iteration, tensor);
  if (!known || known->magnitude == 0)
    return magnitude > watch::kLargeWithoutHistory ? "nothing recorded tells what is usual" : "";
  if (magnitude > watch::kUsualFactor * known->magnitude) return known->text;
  const bool huge = !known->fromHistory && magnitude > kHugeWithoutHistory;
  return huge ? "nothing recorded tells what is usual" : "";
}

double ExplainLook::relative(Rank rank, Iteration iteration, TensorId tensor, double value) {
  const auto known = usual(rank, iteration, tensor);
  return known && known->magnitude > 0 ? std::abs(value) / known->magnitude : std::abs(value) > 0 ? 1 : 0;
}

}  // namespace msdbg::replay
