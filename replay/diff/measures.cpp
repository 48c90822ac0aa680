#include "replay/diff/measures.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <vector>

#include "core_engine/base/text.h"
#include "core_engine/tensor/statistics.h"
#include "replay/describe.h"
#include "replay/tensor/ulp.h"

namespace msdbg::replay {

using core::DType;
using core::Tensor;

namespace {

struct Sums {
  double dot = 0, normA = 0, normB = 0, normDifference = 0, abs = 0;
  std::int64_t finite = 0;

  Sums& operator+=(const Sums& more) {
    dot += more.dot;
    normA += more.normA;
    normB += more.normB;
    normDifference += more.normDifference;
    abs += more.abs;
    finite += more.finite;
    return *this;
  }
};

template <typename T>
double distance(T a, T b) {
  if constexpr (core::ComplexNumber<T>)
    return core::modulus({static_cast<double>(a.real) - static_cast<double>(b.real),
                          static_cast<double>(a.imag) - static_cast<double>(b.imag)});
  else if constexpr (std::is_integral_v<T>)
    return static_cast<double>(*ulpBetween(a, b));  // exact where a double would round both
  else
    return std::abs(core::toDouble(a) - core::toDouble(b));
}

template <typename T>
double product(T a, T b) {
  if constexpr (core::ComplexNumber<T>)
    return static_cast<double>(a.real) * static_cast<double>(b.real) +
           static_cast<double>(a.imag) * static_cast<double>(b.imag);
  else
    return core::toDouble(a) * core::toDouble(b);
}

// Elements of one dtype, block by block.
template <typename T>
class Measuring {
 public:
  Measuring(Measures& measures, const core::Shape& shape, bool bits, bool ulps)
      : m_measures(measures), m_spread(shape), m_bits(bits) {
    if (ulps) measures.ulps.emplace().fill(0);
  }

  void add(std::span<const T> a, std::span<const T> b, std::int64_t begin) {
    Sums block;
    if (std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) {
      for (std::size_t i = 0; i < a.size(); ++i) addEqual(a[i], block);
      if (m_measures.ulps) (*m_measures.ulps)[0] += static_cast<std::int64_t>(a.size());
    } else {
      for (std::size_t i = 0; i < a.size(); ++i)
        addPair(a[i], b[i], begin + static_cast<std::int64_t>(i), block);
    }
    m_sums += block;
  }

  void finish() {
    Measures& m = m_measures;
    m.where = m_spread.finish();
    if (m_sums.finite > 0) m.meanAbs = m_sums.abs / static_cast<double>(m_sums.finite);
    const double lengths = std::sqrt(m_sums.normA) * std::sqrt(m_sums.normB);
    if (lengths > 0 && std::isfinite(lengths)) m.cosine = m_sums.dot / lengths;
    if (m_sums.normA > 0 && std::isfinite(m_sums.normA))
      m.relativeNorm = std::sqrt(m_sums.normDifference) / std::sqrt(m_sums.normA);
  }

 private:
  void addEqual(T x, Sums& block) {
    const double value = std::abs(core::toDouble(x));
    if (!std::isfinite(value)) return;
    m_measures.magnitude = std::max(m_measures.magnitude, value);
    const double square = value * value;
    block.dot += square;
    block.normA += square;
    block.normB += square;
    ++block.finite;
  }

  bool same(T a, T b) const {
    if (std::memcmp(&a, &b, sizeof(T)) == 0) return true;
    if (m_bits) return false;
    return (isNanElement(a) && isNanElement(b)) || distance(a, b) == 0;
  }

  void addPair(T a, T b, std::int64_t at, Sums& block) {
    if (same(a, b)) {
      addEqual(a, block);
      if (m_measures.ulps) ++(*m_measures.ulps)[0];
      return;
    }
    Measures& m = m_measures;
    const double left = core::toDouble(a), right = core::toDouble(b);
    if (m.different++ == 0) m.first = at, m.firstA = left, m.firstB = right;
    m_spread.add(at);
    countUlp(a, b);
    if (std::isnan(left) || std::isnan(right)) {
      ++(std::isnan(left) && std::isnan(right) ? m.nanBits : std::isnan(left) ? m.nanOnlyA : m.nanOnlyB);
      return;
    }
    if (std::isinf(left) || std::isinf(right)) {
      ++m.infinite;
      return;
    }
    addFinite(a, b, at, block);
  }

  void addFinite(T a, T b, std::int64_t at, Sums& block) {
    Measures& m = m_measures;
    const double left = core::toDouble(a), right = core::toDouble(b), apart = distance(a, b);
    m.otherSign += (left < 0 && right > 0) || (left > 0 && right < 0);
    m.zeroSign += left == 0 && right == 0;
    const double larger = std::max(std::abs(left), std::abs(right));
    m.magnitude = std::max(m.magnitude, larger);
    ++block.finite;
    block.dot += product(a, b);
    block.normA += left * left;
    block.normB += right * right;
    if (!std::isfinite(apart)) return;  // of two of the largest doubles
    block.normDifference += apart * apart;
    block.abs += apart;
    if (!m.maxAt || apart > m.maxAbs) m.maxAbs = apart, m.maxAt = at, m.maxA = left, m.maxB = right;
    const double relative = larger > 0 ? apart / larger : 0;
    if (!m.maxRelAt || relative > m.maxRel) m.maxRel = relative, m.maxRelAt = at;
  }

  void countUlp(T a, T b) {
    if (!m_measures.ulps) return;
    const std::optional<std::uint64_t> ulp = ulpBetween(a, b);
    if (!ulp) return;
    ++(*m_measures.ulps)[static_cast<std::size_t>(std::bit_width(*ulp))];
    m_measures.maxUlp = std::max(m_measures.maxUlp, *ulp);
  }

  Measures& m_measures;
  SpreadBuilder m_spread;
  Sums m_sums;
  bool m_bits;
};

// f(begin, end) over the blocks of so many elements of a size.
template <typename F>
void inBlocks(std::int64_t elements, std::size_t size, const core::CancelToken& cancel, F&& f) {
  const auto block = static_cast<std::int64_t>(core::kBlockBytes / size);
  for (std::int64_t begin = 0; begin < elements && !cancel.cancelled(); begin += block)
    f(begin, std::min(begin + block, elements));
}

template <typename T>
void measure(const Tensor& a, const Tensor& b, bool bits, bool ulps, Measures& measures,
             const core::CancelToken& cancel) {
  Measuring<T> measuring(measures, a.shape(), bits, ulps);
  inBlocks(a.elements(), sizeof(T), cancel, [&](std::int64_t begin, std::int64_t end) {
    const auto from = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    measuring.add(a.data<T>().subspan(from, count), b.data<T>().subspan(from, count), begin);
  });
  measuring.finish();
}

// Of two floating dtypes: both in the smaller one, which the larger was rounded to or could have been.
void countUlpsInSmaller(const Tensor& a, const Tensor& b, Measures& measures,
                        const core::CancelToken& cancel) {
  if (!core::isFloating(a.dtype()) || !core::isFloating(b.dtype())) return;
  if (core::dtypeSize(a.dtype()) == core::dtypeSize(b.dtype())) return;
  const bool aIsSmaller = core::dtypeSize(a.dtype()) < core::dtypeSize(b.dtype());
  const DType dtype = aIsSmaller ? a.dtype() : b.dtype();
  const Tensor left = a.cast(dtype), right = b.cast(dtype);
  Measures inSmaller;
  core::visitDType(dtype,
                   [&](auto type) { measure<decltype(type)>(left, right, true, true, inSmaller, cancel); });
  measures.ulps = inSmaller.ulps;
  measures.maxUlp = inSmaller.maxUlp;
}

std::string ulpRange(std::size_t from, std::size_t to) {
  const std::uint64_t low = std::uint64_t{1} << (from - 1);
  const std::uint64_t high = to >= 64 ? UINT64_MAX : (std::uint64_t{1} << to) - 1;
  if (low == high) return fmt::format("{} ulp", low);
  constexpr std::size_t kReadable = 24;  // bits of a number that people still read
  if (from > kReadable) return fmt::format("2^{} ulp and more", from - 1);
  const std::string first = groupedNumber(static_cast<std::int64_t>(low));
  return to > kReadable ? first + " ulp and more"
                        : fmt::format("{}-{} ulp", first, groupedNumber(static_cast<std::int64_t>(high)));
}

}  // namespace

Measures measureTensors(const Tensor& a, const Tensor& b, const core::CancelToken& cancel) {
  assert(a.shape() == b.shape());
  Measures measures;
  measures.shape = a.shape();
  measures.dtypeA = a.dtype();
  measures.dtypeB = b.dtype();
  measures.elements = a.elements();
  if (a.dtype() == b.dtype()) {
    core::visitDType(a.dtype(),
                     [&](auto type) { measure<decltype(type)>(a, b, true, true, measures, cancel); });
    return measures;
  }
  if (core::isComplex(a.dtype()) || core::isComplex(b.dtype()))
    measure<core::Complex128>(a.cast(DType::Complex128), b.cast(DType::Complex128), false, false, measures,
                              cancel);
  else
    measure<double>(a.cast(DType::Float64), b.cast(DType::Float64), false, false, measures, cancel);
  countUlpsInSmaller(a, b, measures, cancel);
  return measures;
}

std::string ulpText(const Measures& measures) {
  if (!measures.ulps) return "";
  constexpr std::size_t kShown = 6;  // ranges; further ones are one
  std::vector<std::size_t> used;
  for (std::size_t i = 1; i < measures.ulps->size(); ++i)
    if ((*measures.ulps)[i] > 0) used.push_back(i);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const bool last = i + 1 == kShown && used.size() > kShown;
    std::int64_t count = 0;
    const std::size_t to = last ? used.back() : used[i];
    for (std::size_t k = used[i]; k <= to; ++k) count += (*measures.ulps)[k];
    parts.push_back(ulpRange(used[i], to) + ": " + groupedNumber(count));
    if (last) break;
  }
  return core::join(parts, ", ");
}

}  // namespace msdbg::replay
