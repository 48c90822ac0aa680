// Bytes of one chunk <-> stored bytes: byte shuffle, then a zstd frame (HDF5 filters 2 and 32015), or raw
// where that does not pay. Byte-compatible with HDF5's own pipeline. Thread-safe functions; a Compressor is
// used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core_engine/base/result.h"

namespace msdbg::dump {

inline constexpr std::uint32_t kRawMask = 3;  // HDF5 filter mask: both filters of the pipeline were skipped

/// All first bytes of the elements, then all second bytes, …; sizes must agree and be a multiple of
/// elementBytes.
void shuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to);
void unshuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to);

/// Whether compressing a tensor is worth the time is judged by a sample, and again after its next kPause
/// bytes.
struct CompressionTrial {
  bool pays = false;
  std::uint64_t bytesLeft = 0;  // for which the last judgement holds
};

/// Compresses chunks. One thread at a time.
class Compressor {
 public:
  /// What a chunk that is compressed must gain; else it is stored as it is.
  static constexpr double kWorthwhile = 1.2;
  /// What a sample must gain: noise that shuffles into one dull byte in four takes long and gains little.
  static constexpr double kWorthTrying = 1.4;
  /// Once compressed a tensor stays so while it gains at least this: its chunks need not change back and
  /// forth.
  static constexpr double kStillWorthTrying = 1.25;
  static constexpr std::uint64_t kPause = 64u << 20;
  static constexpr int kLevel = 1;

  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  /// Whether `bytes`, the next of a tensor, are to be compressed.
  bool judge(std::span<const std::byte> bytes, std::size_t elementBytes, CompressionTrial& trial);
  /// True: `stored` holds the shuffled, compressed chunk. False: it gets no smaller than 1/1.2; store it as
  /// it is.
  bool compress(std::span<const std::byte> chunk, std::size_t elementBytes, std::vector<std::byte>& stored);

 private:
  std::size_t frame(std::span<const std::byte> chunk, std::size_t elementBytes);  // into m_frame; 0: failed
  struct Context;
  std::unique_ptr<Context> m_context;
  std::vector<std::byte> m_shuffled, m_frame;
};

/// The inverse; `chunk` must have exactly the size of the decoded chunk. kDamaged when the bytes say anything
/// else.
core::Status decodeChunk(std::span<const std::byte> stored, bool shuffled, bool compressed,
                         std::size_t elementBytes, std::span<std::byte> chunk);

}  // namespace msdbg::dump
