// RowEncoder: cuts the rows that have chunks of their own and compresses the chunks where that pays. A team
// of threads works on the chunks of one row; the result does not depend on their number. One caller at a
// time.
#pragma once

#include <map>
#include <vector>

#include "dump/codec/codec.h"
#include "dump/stage_times.h"
#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

class RowEncoder {
 public:
  RowEncoder(bool compress, StageClock* clock) : m_compress(compress), m_clock(clock) {}

  /// Fills row.chunks; they refer to `bytes` where they need no memory of their own.
  void encode(RowKey key, TensorRow& row, std::span<const std::byte> bytes, int threads);
  /// One chunk that rows share. Its bytes are copied.
  StoredChunk shared(RowKey key, std::span<const std::byte> bytes, std::size_t chunkBytes);

 private:
  bool pays(RowKey key, std::span<const std::byte> bytes);
  void reserve(int threads);
  void fill(StoredChunk& chunk, std::span<const std::byte> data, std::size_t chunkBytes,
            Compressor* compressor) const;

  bool m_compress;
  StageClock* m_clock;
  std::vector<Compressor> m_compressors;  // one a thread
  std::map<RowKey, CompressionTrial> m_trials;
};

}  // namespace msdbg::dump
