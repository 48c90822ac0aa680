// RowEncoder: cuts the rows that have chunks of their own and compresses the chunks where that pays. A team
// of threads works on the chunks of one row; the result does not depend on their number. One caller at a
// time.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "dump/codec/codec.h"
#include "dump/stage_times.h"
#include "dump/writer/iteration_record.h"

namespace msdbg::dump {

class RowEncoder {
 public:
  RowEncoder(bool compress, StageClock* clock) : m_compress(compress), m_clock(clock) {}

  /// From now on rows go into another file: whether compressing pays is asked anew, and not again until the
  /// next one, because a segment ends where a dataset changes between compressed and not. What gains too
  /// little is stored as it is from the next row on, in chunks that may be compressed.
  void beginFile() { m_file = m_file.value_or(-1) + 1; }
  /// Fills row.chunks; they refer to `bytes` where they need no memory of their own.
  void encode(RowKey key, TensorRow& row, std::span<const std::byte> bytes, int threads);
  /// Whether the next row of the key is one chunk, stored as it is.
  bool keepsWhole(RowKey key, std::span<const std::byte> bytes);
  /// The chunk was written: its memory, whose pages are there, is for the next ones.
  void takeBack(StoredChunk& chunk);
  /// One chunk that rows share. Its bytes are copied.
  StoredChunk shared(RowKey key, std::span<const std::byte> bytes, std::size_t chunkBytes);

 private:
  struct Judged {
    CompressionTrial trial;
    bool filtered = false;   // the dataset has compressed chunks, though the next may not be
    std::int64_t file = -1;  // number of the one it was judged for
  };
  Judged& judge(RowKey key, std::span<const std::byte> bytes);
  void reserve(int threads);
  void reuseMemory(std::span<StoredChunk> chunks);
  void fill(StoredChunk& chunk, std::span<const std::byte> data, std::size_t chunkBytes,
            Compressor* compressor) const;

  bool m_compress;
  std::optional<std::int64_t> m_file;  // unset: judged whenever a trial is due
  StageClock* m_clock;
  std::vector<Compressor> m_compressors;  // one a thread
  std::map<RowKey, Judged> m_judged;
  std::vector<std::vector<std::byte>> m_memory;  // for chunks, at most as many as a row has
};

}  // namespace msdbg::dump
