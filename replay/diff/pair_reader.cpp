#include "replay/diff/pair_reader.h"

#include <algorithm>
#include <cmath>

namespace msdbg::replay {

using core::Error;
using core::ErrorCode;
using core::Iteration;
using core::Rank;
using core::Result;
using core::Tensor;
using core::TensorId;

namespace {

// Who differs by so much has a tensor whose least, greatest or mean element does. Elements that are not
// finite are left out of statistics, so with any of them nothing follows.
double boundOf(const core::TensorStatistics& a, const core::TensorStatistics& b) {
  if (a.count != b.count || a.count == 0 || a.nonFinite() > 0 || b.nonFinite() > 0) return 0;
  const double rounding = 4 * 2.3e-16 * std::max(a.meanAbs, b.meanAbs);  // of the means
  const double mean = std::max(0.0, std::abs(a.mean - b.mean) - rounding);
  return std::max({std::abs(a.min - b.min), std::abs(a.max - b.max), mean});
}

double magnitudeOf(const core::TensorStatistics& s) {
  return s.count > s.nonFinite() ? std::max(std::abs(s.min), std::abs(s.max)) : 0;
}

}  // namespace

void PairReader::note(const Error& error) {
  constexpr std::size_t kMost = 20;
  if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kCancelled) return;
  if (m_notes.size() < kMost && std::ranges::find(m_notes, error.message()) == m_notes.end())
    m_notes.push_back(error.message());
}

std::optional<core::Hash128> PairReader::hash(Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  const Result<core::Hash128> found = run.hash(rank, iteration, tensor);
  if (!found.ok()) note(found.error());
  return found.ok() && *found != core::Hash128() ? std::optional(*found) : std::nullopt;
}

std::optional<Tensor> PairReader::value(Run& run, Rank rank, Iteration iteration, TensorId tensor) {
  Result<Tensor> found = run.value(rank, iteration, tensor);
  if (found.ok()) return std::move(*found);
  note(found.error());
  return std::nullopt;
}

TensorComparison PairReader::compare(const Places& at, const AlignedTensor& tensor, bool measure,
                                     const Auto& how) {
  TensorComparison found{.rankA = at.rankA,
                         .rankB = at.rankB,
                         .iterationA = at.iterationA,
                         .iterationB = at.iterationB,
                         .order = tensor.order,
                         .a = tensor.a,
                         .b = tensor.b};
  const auto hashA = hash(m_a, at.rankA, at.iterationA, tensor.a);
  const auto hashB = hash(m_b, at.rankB, at.iterationB, tensor.b);
  found.otherType = !tensor.sameType;
  if (hashA && hashB) {
    found.by = ComparedBy::kHashes;
    if (*hashA == *hashB && !found.otherType) {
      found.verdict = Agreement::kEqual;
      return found;
    }
    found.verdict = Agreement::kDifferent;
    if (m_tolerance.kind == Tolerance::Kind::kExact && !measure) return found;
    if (m_tolerance.kind != Tolerance::Kind::kExact) found.verdict = Agreement::kUndecided;
  }
  const auto valueA = value(m_a, at.rankA, at.iterationA, tensor.a);
  const auto valueB = valueA ? value(m_b, at.rankB, at.iterationB, tensor.b) : std::nullopt;
  if (valueA && valueB)
    compareValues(*valueA, *valueB, found, how);
  else
    compareStatistics(found);
  return found;
}

void PairReader::compareValues(const Tensor& a, const Tensor& b, TensorComparison& found, const Auto& how) {
  found.by = ComparedBy::kValues;
  if (a.shape() != b.shape()) {
    found.otherType = true;
    found.verdict = Agreement::kDifferent;
    return;
  }
  found.measures = measureTensors(a, b, m_cancel);
  if (found.measures->different == 0)
    found.verdict = found.otherType && m_tolerance.kind == Tolerance::Kind::kExact ? Agreement::kDifferent
                                                                                   : Agreement::kEqual;
  else
    found.verdict = within(found, how) ? Agreement::kWithin : Agreement::kDifferent;
}

void PairReader::compareStatistics(TensorComparison& found) {
  const watch::StatisticsRow* row = m_a.statistics(found.rankA, found.iterationA, found.a);
  if (!row) return;
  const core::TensorStatistics a = row->values;  // the next row may take its place
  row = m_b.statistics(found.rankB, found.iterationB, found.b);
  if (!row) return;
  const core::TensorStatistics& b = row->values;
  found.by = ComparedBy::kStatistics;
  found.statistics.emplace(a, b);
  found.atLeast = boundOf(a, b);
  if (a.hash == b.hash && a.hash != core::Hash128() && !found.otherType) {
    found.verdict = Agreement::kEqual;
    return;
  }
  const bool nonFinite = a.nan != b.nan || a.posInf != b.posInf || a.negInf != b.negInf;
  const double scale = std::max(magnitudeOf(a), magnitudeOf(b));
  const bool surely =
      m_tolerance.kind == Tolerance::Kind::kExact || nonFinite || a.count != b.count ||
      (m_tolerance.kind == Tolerance::Kind::kScaled && found.atLeast > m_tolerance.scale * scale);
  found.verdict = surely ? Agreement::kDifferent : Agreement::kUndecided;
}

bool PairReader::within(TensorComparison& found, const Auto& how) {
  const Measures& m = *found.measures;
  if (m_tolerance.kind == Tolerance::Kind::kExact || m.otherNonFinite()) return false;
  if (m_tolerance.kind == Tolerance::Kind::kScaled) return m.maxAbs <= m_tolerance.scale * m.magnitude;
  return withinLastBits(found, how);
}

bool PairReader::withinLastBits(TensorComparison& found, const Auto& how) {
  const Measures& m = *found.measures;
  if (how.judgedBefore) return true;
  if (found.order < 0 || !core::isFloating(m.dtypeA)) return m.maxAbs == 0;
  // Writing the result down rounds by half of this already.
  const double ofOutput = core::floatLimits(m.dtypeA).epsilon * m.magnitude;
  if (m.maxAbs <= kLastBits * ofOutput / 2) return true;
  const Result<LastBit> bit = lastBit(found, how);
  if (!bit.ok()) {
    note(bit.error());
    return m.maxAbs <= kLastBits * (ofOutput + how.inputsScaled * m.magnitude);
  }
  found.lastBit = bit->ofOne;
  const double one = std::max(bit->ofOne, ofOutput / 2);
  if (bit->propagated) return m.maxAbs <= kLastBits * one + 2 * *bit->propagated;
  const double grown = how.inputsScaled / core::floatLimits(m.dtypeA).epsilon;
  return m.maxAbs <= kLastBits * one * std::max(1.0, grown);
}

Result<LastBit> PairReader::lastBit(const TensorComparison& found, const Auto& how) {
  if (found.order < 0 || !how.side) return Error(ErrorCode::kUnavailable, "nothing computes it");
  const core::TensorInfo& info = m_a.graph().tensor(found.a);
  const auto inputs = how.side->inputs(m_a.graph().node(info.producer));
  const OtherInput theirs = [&](std::size_t i) -> std::optional<Tensor> {
    const TensorId partner = how.alignment->toB(inputs[i]);
    if (!partner.valid()) return std::nullopt;
    return value(m_b, found.rankB, found.iterationB, partner);
  };
  MSDBG_ASSIGN(const std::vector<LastBit> bits,
               m_bits.of(found.rankA, found.iterationA, info.producer, theirs));
  return bits.at(static_cast<std::size_t>(info.slot));
}

void PairReader::addLastBit(TensorComparison& comparison, const Auto& how) {
  if (comparison.lastBit || !comparison.measures) return;
  const Result<LastBit> bit = lastBit(comparison, how);
  if (bit.ok())
    comparison.lastBit = bit->ofOne;
  else
    note(bit.error());
}

}  // namespace msdbg::replay
