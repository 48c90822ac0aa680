// RowFile: a file that becomes a segment. Chunks are appended while training goes on, so that no copy of them
// is kept in memory; the segment writer takes the file, adds what is HDF5's, and commits it under its name.
// The same bytes are written once, however often they come: a parameter is what the update before it made.
// One thread appends; another may take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core_engine/base/result.h"
#include "core_engine/tensor/statistics.h"
#include "dump/writer/direct_stream.h"
#include "dump/writer/spare_file.h"
#include "dump/writer/stored_bytes.h"

namespace msdbg::dump {

/// Of a data region: where chunks begin. Hashes of 64 KiB blocks are then those of the file's own blocks.
std::uint64_t chunkPlace(std::uint64_t end, std::uint64_t size);

class RowFile {
 public:
  /// A new file `.NAME.tmp` in the folder, made of `spare` where that has one. kIo.
  static core::Result<std::shared_ptr<RowFile>> create(const std::filesystem::path& folder,
                                                       const std::string& name, SpareFile* spare = nullptr);
  ~RowFile();  // removes the file unless it was committed
  /// From here on past the page cache, where the file system can, until it is taken or written to out of
  /// order. The buffer is the file's until it is taken, or left.
  void writeDirect(std::shared_ptr<DirectBuffer> buffer);
  /// Nothing is appended any more; whoever takes it learns whether all of it could be written.
  void leave();

  struct Chunk {
    std::span<const std::byte> bytes;
    core::Hash128 hash;
    std::span<const core::Hash128> blocks;  // what the hash is made of
  };
  /// Where the chunk lies. nullopt: the file is taken, begin another. kIo: path and reason.
  core::Result<std::optional<std::uint64_t>> append(const Chunk& chunk);
  bool isTaken() const;
  /// The chunks of a value that was stored, and what is to be found later; nothing once the file is taken.
  std::optional<StoredValue> find(const StoredBytes::ValueKey& value) const;
  void note(StoredBytes::ValueKey value, StoredValue stored);

  /// Bytes at the end of a file, whose hash is not known yet. Nobody else appends or takes the file
  /// meanwhile; they are dropped, and their room given back, unless they are kept. The thread that made it.
  class Ahead {
   public:
    struct Kept {
      std::uint64_t offset, grown;  // where such bytes lie; by how much the file became longer
    };
    Kept keep(const Chunk& chunk);
    /// As RowFile::find(), which would wait for this.
    std::optional<StoredValue> find(const StoredBytes::ValueKey& value) const {
      return m_file->findLocked(value);
    }
    Ahead(Ahead&&) noexcept = default;
    Ahead& operator=(Ahead&&) = delete;
    ~Ahead();

   private:
    friend class RowFile;
    Ahead(std::shared_ptr<RowFile> file, std::unique_lock<std::mutex> lock, std::uint64_t at)
        : m_file(std::move(file)), m_lock(std::move(lock)), m_at(at) {}
    std::shared_ptr<RowFile> m_file;  // nullptr: kept
    std::unique_lock<std::mutex> m_lock;
    std::uint64_t m_at;
  };
  /// nullopt: the file is taken, or written past the page cache, or the bytes could not be written; append()
  /// says which.
  static std::optional<Ahead> writeAhead(const std::shared_ptr<RowFile>& file,
                                         std::span<const std::byte> bytes);
  /// True once: nothing is appended any more, and the caller completes the file.
  bool take();

  core::Status read(std::uint64_t offset, std::span<std::byte> into) const;
  core::Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  std::uint64_t end() const { return m_end; }                  // of what was appended; once taken
  StoredBytes releaseStored() { return std::move(m_stored); }  // once taken
  /// Hashes of 64 KiB blocks, by their number, as long as nothing else is written into them; once taken.
  const std::map<std::uint64_t, core::Hash128>& knownBlocks() const { return m_blocks; }
  /// Makes it so long. What was never written is zeros.
  core::Status extend(std::uint64_t size);
  /// fsync; renamed to `file`, whose folder is fsynced.
  core::Status commit(const std::filesystem::path& file);

 private:
  RowFile(SpareFile::Taken file, std::filesystem::path path)
      : m_descriptor(std::move(file.descriptor)), m_oldBytes(file.bytes), m_path(std::move(path)) {}
  std::optional<StoredValue> findLocked(const StoredBytes::ValueKey& value) const;
  void noteBlocks(std::uint64_t at, const Chunk& chunk);
  std::optional<std::uint64_t> placeOf(const Chunk& chunk) const {
    return m_stored.chunk(chunk.hash, chunk.bytes.size());
  }
  void noteAppended(std::uint64_t at, const Chunk& chunk);
  void drop(std::uint64_t from);
  void noteWritten(std::uint64_t begin, std::uint64_t end);
  core::Status stream(std::uint64_t offset, std::span<const std::byte> bytes);
  core::Status settle();
  void settleOnce();
  core::Status put(std::uint64_t offset, std::span<const std::byte> bytes);
  core::Status clear(std::uint64_t begin, std::uint64_t end);
  Descriptor m_descriptor;
  std::uint64_t m_oldBytes = 0;                      // which another segment left in it
  std::map<std::uint64_t, std::uint64_t> m_written;  // of these: begin -> end, apart from each other
  std::filesystem::path m_path;
  mutable std::mutex m_mutex;
  bool m_taken = false, m_committed = false;
  std::optional<DirectStream> m_stream;
  core::Status m_settled;  // whether all of it was written when the file was taken or left
  std::uint64_t m_end = 0;
  StoredBytes m_stored;
  std::map<std::uint64_t, core::Hash128> m_blocks;
  std::vector<std::byte> m_lastBlock;
};

}  // namespace msdbg::dump
