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

/// Format 1.0 shuffled before it compressed. `from`: all first bytes of the elements, then all second bytes,
/// …; sizes must agree and be a multiple of elementBytes.
void unshuffle(std::span<const std::byte> from, std::size_t elementBytes, std::span<std::byte> to);

/// Whether compressing a tensor is worth the time is judged by a sample, and again after its next kPause
/// bytes; what it then gains may say otherwise at once.
struct CompressionTrial {
  bool pays = false;
  std::uint64_t bytesLeft = 0;  // for which the last judgement holds

  /// `raw` bytes were compressed to `stored`. Momenta are zeros in the first iteration and noise in all
  /// others.
  void gained(std::uint64_t raw, std::uint64_t stored);
};

/// Compresses chunks. One thread at a time.
class Compressor {
 public:
  /// What a chunk that is compressed must gain; else it is stored as it is.
  static constexpr double kWorthwhile = 1.2;
  /// What a sample must gain. A megabyte takes a team of 2 some 0.7 ms, writing it 0.3 to 0.4 (RAM disk):
  /// what gains less than 1.8 costs more time than its room is worth (dump/PERFORMANCE.md).
  static constexpr double kWorthTrying = 1.8;
  /// Once compressed a tensor stays so while it gains at least this: its chunks need not change back and
  /// forth.
  static constexpr double kStillWorthTrying = 1.6;
  static constexpr std::uint64_t kPause = 64u << 20;
  /// Of what is not mostly zeros (zero_runs.h). zstd's negative levels pass over what does not repeat: noise
  /// at 8 GB/s where level 1 takes 0.9 GB/s.
  static constexpr int kLevel = -3;
  /// The pipeline's byte shuffle is left out. It made dense tensors 1.2 times smaller, too little to be worth
  /// the time, and sparse ones (zeros behind Relu and MaxPool) larger, in twice the time.
  static constexpr std::uint32_t kFilterMask = 1;

  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  /// Whether `bytes`, the next of a tensor, are to be compressed.
  bool judge(std::span<const std::byte> bytes, CompressionTrial& trial);
  /// True: `stored` holds the compressed chunk. False: it gets no smaller than 1/1.2; store it as it is.
  bool compress(std::span<const std::byte> chunk, std::vector<std::byte>& stored);

 private:
  std::size_t frame(std::span<const std::byte> chunk);  // into m_frame; 0: failed
  struct Context;
  std::unique_ptr<Context> m_context;
  std::vector<std::byte> m_frame;
};

/// The inverse; `chunk` must have exactly the size of the decoded chunk. kDamaged when the bytes say anything
/// else.
core::Status decodeChunk(std::span<const std::byte> stored, bool shuffled, bool compressed,
                         std::size_t elementBytes, std::span<std::byte> chunk);

}  // namespace msdbg::dump
