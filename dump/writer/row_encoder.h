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
  /// next one, because a segment ends where a dataset changes between compressed and not.
  void beginFile() { m_file = m_file.value_or(-1) + 1; }
  /// Fills row.chunks; they refer to `bytes` where they need no memory of their own.
  void encode(RowKey key, TensorRow& row, std::span<const std::byte> bytes, int threads);
  /// One chunk that rows share. Its bytes are copied.
  StoredChunk shared(RowKey key, std::span<const std::byte> bytes, std::size_t chunkBytes);

 private:
  bool pays(RowKey key, std::span<const std::byte> bytes);
  void reserve(int threads);
  void fill(StoredChunk& chunk, std::span<const std::byte> data, std::size_t chunkBytes,
            Compressor* compressor) const;

  struct Judged {
    CompressionTrial trial;
    std::int64_t file = -1;  // number of the one it was judged for
  };
  bool m_compress;
  std::optional<std::int64_t> m_file;  // unset: judged whenever a trial is due
  StageClock* m_clock;
  std::vector<Compressor> m_compressors;  // one a thread
  std::map<RowKey, Judged> m_judged;
};

}  // namespace msdbg::dump
