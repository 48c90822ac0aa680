#include "dump/writer/row_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "dump/commit_file.h"

namespace msdbg::dump {
namespace {

constexpr std::uint64_t kDataStart = core::kBlockBytes;    // as FileImage has it
constexpr std::uint64_t kAligned = 2 * core::kBlockBytes;  // smaller chunks follow one another

}  // namespace

std::uint64_t chunkPlace(std::uint64_t end, std::uint64_t size) {
  const std::uint64_t step = size >= kAligned ? core::kBlockBytes : 8;
  return (std::max(end, kDataStart) + step - 1) / step * step;
}

core::Result<std::shared_ptr<RowFile>> RowFile::create(const std::filesystem::path& folder,
                                                       const std::string& name, SpareFile* spare) {
  std::filesystem::path path = folder / ("." + name + ".tmp");
  SpareFile::Taken file;
  if (spare) file = spare->take(path);
  if (!file.descriptor.valid())
    file.descriptor = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.descriptor.valid()) return ioError("cannot create", path);
  return std::shared_ptr<RowFile>(new RowFile(std::move(file), std::move(path)));
}

RowFile::~RowFile() {
  if (!m_committed && isAt(m_descriptor.get(), m_path)) ::unlink(m_path.c_str());
}

core::Result<std::optional<std::uint64_t>> RowFile::append(const Chunk& chunk) {
  const std::lock_guard lock(m_mutex);
  if (m_taken) return std::optional<std::uint64_t>();
  if (const auto same = placeOf(chunk)) return same;
  const std::uint64_t at = chunkPlace(m_end, chunk.bytes.size());
  MSDBG_TRY(write(at, chunk.bytes));
  noteAppended(at, chunk);
  return std::optional(at);
}

void RowFile::noteAppended(std::uint64_t at, const Chunk& chunk) {
  m_end = at + chunk.bytes.size();
  m_stored.addChunk(chunk.hash, chunk.bytes.size(), at);
  noteBlocks(at, chunk);
}

std::optional<RowFile::Ahead> RowFile::writeAhead(const std::shared_ptr<RowFile>& file,
                                                  std::span<const std::byte> bytes) {
  std::unique_lock lock(file->m_mutex);
  if (file->m_taken || file->m_stream) return std::nullopt;
  const std::uint64_t at = chunkPlace(file->m_end, bytes.size());
  Ahead ahead(file, std::move(lock), at);
  if (!file->put(at, bytes).ok()) return std::nullopt;  // what was written of it is dropped
  return ahead;
}

RowFile::Ahead::Kept RowFile::Ahead::keep(const Chunk& chunk) {
  if (const auto same = m_file->placeOf(chunk)) return {*same, 0};
  const std::shared_ptr<RowFile> file = std::exchange(m_file, nullptr);
  const std::uint64_t end = m_at + chunk.bytes.size(), grown = end - file->m_end;
  if (m_at < file->m_oldBytes) file->noteWritten(m_at, end);
  file->noteAppended(m_at, chunk);
  m_lock.unlock();
  return {m_at, grown};
}

RowFile::Ahead::~Ahead() {
  if (m_file && m_lock) m_file->drop(m_at);
}

// What another segment left is cleared when the file is completed.
void RowFile::drop(std::uint64_t from) {
  if (::ftruncate(m_descriptor.get(), static_cast<off_t>(std::max(from, m_oldBytes))) != 0)
    m_settled = ioError("cannot write", m_path);
}

void RowFile::noteBlocks(std::uint64_t at, const Chunk& chunk) {
  const std::uint64_t first = at / core::kBlockBytes, whole = chunk.bytes.size() / core::kBlockBytes;
  if (at % core::kBlockBytes != 0) {
    m_blocks.erase(first);  // it was thought to end in zeros
    return;
  }
  for (std::uint64_t i = 0; i < whole; ++i) m_blocks[first + i] = chunk.blocks[i];
  const std::span<const std::byte> rest = chunk.bytes.subspan(whole * core::kBlockBytes);
  if (rest.empty()) return;
  m_lastBlock.assign(rest.begin(), rest.end());
  m_lastBlock.resize(core::kBlockBytes);
  m_blocks[first + whole] = core::hashBlock(m_lastBlock);
}

bool RowFile::isTaken() const {
  const std::lock_guard lock(m_mutex);
  return m_taken;
}

std::optional<StoredValue> RowFile::find(const StoredBytes::ValueKey& value) const {
  const std::lock_guard lock(m_mutex);
  return findLocked(value);
}

std::optional<StoredValue> RowFile::findLocked(const StoredBytes::ValueKey& value) const {
  const StoredValue* stored = m_taken ? nullptr : m_stored.value(value);
  return stored ? std::optional(*stored) : std::nullopt;
}

void RowFile::note(StoredBytes::ValueKey value, StoredValue stored) {
  const std::lock_guard lock(m_mutex);
  if (!m_taken) m_stored.addValue(std::move(value), std::move(stored));
}

bool RowFile::take() {
  const std::lock_guard lock(m_mutex);
  if (std::exchange(m_taken, true)) return false;
  settleOnce();
  return true;
}

void RowFile::leave() {
  const std::lock_guard lock(m_mutex);
  if (!m_taken) settleOnce();
}

void RowFile::settleOnce() {
  if (m_stream) m_settled = settle();
}

void RowFile::writeDirect(std::shared_ptr<DirectBuffer> buffer) {
  m_stream = DirectStream::open(m_path, std::move(buffer));
}

core::Status RowFile::stream(std::uint64_t offset, std::span<const std::byte> bytes) {
  core::Status status = m_stream->append(offset, bytes);
  if (status.ok() || status.error().code() != core::ErrorCode::kUnsupported) return status;
  const DirectStream::Pending before = m_stream->pending();
  status = put(before.offset, before.bytes);
  m_stream.reset();
  return status.ok() ? put(offset, bytes) : status;
}

core::Status RowFile::settle() {
  if (!m_stream) return core::Ok{};
  core::Status status = m_stream->flush();
  const DirectStream::Pending rest = m_stream->pending();
  if (!status.ok() && status.error().code() == core::ErrorCode::kUnsupported)
    status = put(rest.offset, rest.bytes);
  m_stream.reset();
  return status;
}

core::Status RowFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  MSDBG_TRY(m_settled);
  while (!into.empty()) {
    const ssize_t got = ::pread(m_descriptor.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ioError("cannot read", m_path);
    if (got == 0) return core::Error(core::ErrorCode::kIo, m_path.string() + " became shorter");
    offset += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return core::Ok{};
}

core::Status RowFile::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(m_descriptor.get(), bytes.data(),
                                 std::min<std::size_t>(bytes.size(), 1u << 30), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return ioError("cannot write", m_path);
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return core::Ok{};
}

core::Status RowFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (m_stream && offset >= m_stream->end()) {
    MSDBG_TRY(stream(offset, bytes));
  } else {
    MSDBG_TRY(settle());
    MSDBG_TRY(put(offset, bytes));
  }
  if (offset < m_oldBytes) noteWritten(offset, offset + bytes.size());
  return core::Ok{};
}

void RowFile::noteWritten(std::uint64_t begin, std::uint64_t end) {
  auto at = m_written.upper_bound(begin);
  if (at != m_written.begin() && std::prev(at)->second >= begin) --at;
  while (at != m_written.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = m_written.erase(at);
  }
  if (begin < end) m_written[begin] = end;
}

core::Status RowFile::clear(std::uint64_t begin, std::uint64_t end) {
  static const std::vector<std::byte> kZeros(core::kBlockBytes);
  for (; begin < end; begin += kZeros.size())
    MSDBG_TRY(put(begin, std::span(kZeros).first(std::min<std::uint64_t>(kZeros.size(), end - begin))));
  return core::Ok{};
}

core::Status RowFile::extend(std::uint64_t size) {
  MSDBG_TRY(m_settled);
  MSDBG_TRY(settle());
  const std::uint64_t old = std::min(m_oldBytes, size);
  std::uint64_t begin = 0;
  for (const auto& [from, to] : m_written) {
    if (from > begin) MSDBG_TRY(clear(begin, std::min(from, old)));
    begin = std::max(begin, to);
  }
  if (begin < old) MSDBG_TRY(clear(begin, old));
  if (::ftruncate(m_descriptor.get(), static_cast<off_t>(size)) != 0) return ioError("cannot write", m_path);
  return core::Ok{};
}

core::Status RowFile::commit(const std::filesystem::path& file) {
  if (::fsync(m_descriptor.get()) != 0) return ioError("cannot write", m_path);
  m_descriptor.unlock();  // from here on others read it
  if (::rename(m_path.c_str(), file.c_str()) != 0) return ioError("cannot rename to", file);
  m_committed = true;
  core::Status status = syncFolder(file.parent_path());
  if (!status.ok()) ::unlink(file.c_str());  // its iterations are committed again, under another name
  return status;
}

}  // namespace msdbg::dump
