// What is counted most, once more and faster: the sums of one block of finite float32 elements, in one pass
// where block_statistics.cpp takes three. The same lanes, combined in the same order, so every kernel gives
// the same bits. Pure; thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core_engine/tensor/block_statistics.h"
#include "core_engine/tensor/statistics.h"

namespace msdbg::core {

/// As blockMoments(), blockChange() and blockActivation(). False: an element is not finite, nothing is filled
/// in.
bool finiteMoments(const float* data, std::int64_t count, const float* next, BlockMoments& moments);
bool finiteChange(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                  BlockChange& change);
BlockActivation floatActivation(const float* data, std::int64_t count, double start, double end);

/// The units whose elements lie together: a block begins `left` elements before the end of a run of unit
/// `unit`.
struct UnitRuns {
  std::int64_t inner = 1,
               units = 1;  // elements of a run; the runs of all units follow each other, again and again
  std::int64_t unit = 0, left = 1;
};
/// Adds to active[unit] the elements > 0; returns how many lie in the range. At most a block.
std::int64_t floatUnits(const float* data, std::int64_t count, double start, double end, const UnitRuns& runs,
                        std::int64_t* active);

// What they are made of, for the test that compares the kernels of different instruction sets.

/// Squares of float32 are exact in double, so that adding them in one instruction or two makes no difference.
struct FloatSums {
  double sum = 0, sumAbs = 0,
         sumSquares = 0;  // NaN or Inf in sumAbs: an element is not finite, the rest is void
  double min = 0, max = 0;
  std::int64_t zero = 0, negative = 0;
};

/// |x-p| and |p|; NaN or Inf in one of the sums: an element is not finite, the rest is void.
struct FloatChange {
  double sumAbsChange = 0, sumAbsPrevious = 0, maxAbsChange = 0;
  std::int64_t inside = 0;  // |x-p| <= atol + rtol |p|
};

/// The loops of one instruction set, each over at most a block. Those of all sets give the same bits.
struct FloatKernels {
  /// `next`: what is read after this block, or null.
  void (*sums)(const float* data, std::int64_t count, const float* next, FloatSums& sums);
  void (*change)(const float* x, const float* previous, std::int64_t count, double rtol, double atol,
                 FloatChange& change);
  /// start and end, here and below: the first and the last float32 of the range.
  void (*activation)(const float* data, std::int64_t count, float start, float end, BlockActivation& out);
  std::int64_t (*units)(const float* data, std::int64_t count, float start, float end, const UnitRuns& runs,
                        std::int64_t* active);
};
extern const FloatKernels kPlainFloatKernels;
const FloatKernels* avx2FloatKernels();    // null: not on this processor
const FloatKernels* avx512FloatKernels();  // null: not on this processor
const FloatKernels& floatKernels();        // the fastest ones here

/// Which elements of a block are > 0; inlined, since only some instruction sets count bits at once.
struct PositiveBits {
  std::array<std::uint64_t, kBlockBytes / sizeof(float) / 64> words;

  [[gnu::always_inline]] std::int64_t count(std::int64_t first, std::int64_t elements) const {
    std::int64_t sum = 0;
    for (const std::int64_t end = first + elements; first < end;) {
      const std::int64_t bit = first % 64, bits = std::min(64 - bit, end - first);
      sum += __builtin_popcountll(words[static_cast<std::size_t>(first / 64)] >> bit << (64 - bits));
      first += bits;
    }
    return sum;
  }
  [[gnu::always_inline]] void addRuns(std::int64_t count, UnitRuns runs, std::int64_t* active) const {
    for (std::int64_t at = 0; at < count; at += std::exchange(runs.left, runs.inner)) {
      active[runs.unit] += this->count(at, std::min(runs.left, count - at));
      runs.unit = runs.unit + 1 == runs.units ? 0 : runs.unit + 1;
    }
  }
};

}  // namespace msdbg::core
