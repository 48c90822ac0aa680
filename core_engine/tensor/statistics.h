// One-pass statistics and 128-bit hashes of a tensor. Both are defined over the logical row-major elements in
// fixed 64 KiB blocks that are combined in block order, so they depend neither on threads nor on the
// instruction set. Definitions: shared/specs/watchpoints.md "Common rules" (mode *fast*). Thread-safe; uses
// the caller's OpenMP team.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core_engine/tensor/block_statistics.h"
#include "core_engine/tensor/tensor.h"

namespace msdbg::core {

inline constexpr std::size_t kBlockBytes = 65536;

struct Hash128 {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  std::string text() const;  // 32 hexadecimal digits, high first
};

/// Every element as double, as toDouble() has it: small floats are exact, 64-bit integers beyond 2^53 are
/// rounded, of a complex element its modulus counts (so none is negative; NaN where a part is, else Inf where
/// a part is). -0.0 counts as zero. min … l2 are over the FINITE elements; NaN and Inf are counted apart.
/// Sums are of doubles: float64 elements beyond 1e154 make std and l2 infinite. With no finite element min,
/// max, mean, meanAbs are NaN and std, l1, l2 are 0.
struct TensorStatistics {
  std::int64_t count = 0, nan = 0, posInf = 0, negInf = 0, zero = 0, negative = 0,
               positive = 0;  // negative/positive: finite ones
  double min = 0, max = 0, mean = 0, meanAbs = 0, std = 0, l1 = 0,
         l2 = 0;  // std: n-1 in the denominator; 0 when n < 2
  Hash128 hash;   // XXH3-128 over the 16-byte XXH3-128 hashes (canonical order: low, high, little-endian) of
                  // the 64 KiB blocks

  std::int64_t nonFinite() const { return nan + posInf + negInf; }
  std::int64_t inf() const { return posInf + negInf; }
};

TensorStatistics computeStatistics(const Tensor& tensor, int threads = 1);
Hash128 hashBytes(std::span<const std::byte> bytes, int threads = 1);  // the same block scheme
Hash128 hashBlock(std::span<const std::byte> block);    // plain XXH3-128 of at most kBlockBytes
Hash128 hashOfBlocks(std::span<const Hash128> blocks);  // what hashBytes makes of its blocks' hashes
Hash128 hashTensor(const Tensor& tensor, int threads = 1);

/// Change from p (previous) to x. Elements where either is not finite are left out of the sums and counted in
/// `skipped`. Of complex elements |x-p| and |p| are moduli.
struct ChangeStatistics {
  double meanAbsChange = 0;    // mean |x-p|
  double maxAbsChange = 0;     // max |x-p|
  double meanAbsPrevious = 0;  // mean |p|
  std::int64_t outsideTolerance =
      0;  // # |x-p| > atol + rtol*|p|, with kChangeRtol and kChangeAtol; not finite counts as outside
  std::int64_t skipped = 0;
};
inline constexpr double kChangeRtol = 1e-5, kChangeAtol = 1e-8;
ChangeStatistics computeChange(const Tensor& x, const Tensor& p, int threads = 1);

/// For activations. A unit is a channel (dimension 1) of a [N, C, …] tensor, the last dimension of a rank-2
/// tensor.
struct ActivationStatistics {
  double shareInRange = 0;    // share in [0,1] of elements with start <= x <= end
  double shareDeadUnits = 0;  // share of units active (x > 0) in fewer than 1 % of their elements
};
ActivationStatistics computeActivation(const Tensor& x, double rangeStart, double rangeEnd, int threads = 1);

/// All of the above in one pass over the bytes, while they are in the cache: the same numbers.
struct TensorObservation {
  TensorStatistics values;
  std::optional<ChangeStatistics> change;
  std::optional<ActivationStatistics> activation;
  std::vector<Hash128> blocks;  // hashes of the 64 KiB blocks
};
struct ObservationWish {
  const Tensor* previous = nullptr;                     // wanted: the change from it
  std::optional<std::pair<double, double>> range = {};  // wanted: the activation statistics
  /// What the values are likely to be (a parameter is what the update before it made). Where the hash is the
  /// same, so is everything else, and only the hash is computed.
  const TensorStatistics* expected = nullptr;
  /// Called once, by the caller's thread, while the rest of the team observes; then it helps them. Not where
  /// the values are those expected.
  std::function<void()> alongside = {};
};
TensorObservation observeTensor(const Tensor& tensor, const ObservationWish& wish, int threads = 1);

/// Values and change of a tensor, taken by those who compute it: each 64 KiB block as soon as it is there.
/// The same numbers as observeTensor().
class BlockwiseObservation {
 public:
  explicit BlockwiseObservation(const Tensor& tensor);
  std::size_t blocks() const { return m_hashes.size(); }
  /// Once for each block, different ones by different threads. `previous`: the block's values before.
  void add(std::size_t block, const void* previous);
  TensorObservation finish();

 private:
  const Tensor* m_tensor;
  std::vector<Hash128> m_hashes;
  std::vector<BlockMoments> m_moments;
  std::vector<BlockChange> m_changes;
};

}  // namespace msdbg::core
